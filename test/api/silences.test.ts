import { unique } from "../factories.js";
import { assert } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/silences";
const form = [
  ...["id", "severities", "alertName", "productIntID", "productName", "groupIntID", "groupName"],
  ...["deviceIntID", "deviceName", "startTime", "endTime", "comment", "createUser", "createAt", "updateAt"],
];
const span = { startTime: "2098-01-01 00:00:00", endTime: "2098-02-01 00:00:00" };

worldSuite("silences", (test, world) => {
  testResource(test, world, {
    path,
    body: async () => ({ ...span, comment: unique("repair") }),
    required: ["endTime"],
    optional: { severities: [4], alertName: "hot" },
    fixed: {},
    name: "comment",
    unique: null,
    keys: { stored: form, detail: form, listed: form },
  });

  test("it lasts from now unless it says otherwise, and never ends before it begins", async () => {
    const year = new Date(world.clock.now()).getUTCFullYear();
    const soon = await world.make(path, { endTime: `${year + 1}-01-01 00:00:00` });
    assert.is(String(soon.startTime).slice(0, 4), String(year));
    for (const [endTime, reason] of [
      ["2000-01-01 00:00:00", "must be after startTime"],
      ["2099-12-31 00:00:00", "must be within 366 days of startTime"],
      ["tomorrow", "must be YYYY-MM-DD HH:MM:SS, ISO 8601 or a number since 1970"],
      ["1600-01-01T00:00:00Z", "lies before 1684-08-01, the oldest time that there is"],
      ["2098-13-01 00:00:00", undefined],
    ] as const) {
      const reply = await world.call("POST", path, { ...span, endTime });
      refused(reply, "PARAMETER_INVALID", "endTime");
      if (reason !== undefined) assert.is(reply.failure.errors.endTime, reason);
    }
    const one = { startTime: "2098-01-01T02:00:00+02", endTime: String(Date.UTC(2098, 0, 1, 1) / 1000) };
    const { startTime, endTime } = await world.make(path, one);
    assert.equal([startTime, endTime], ["2098-01-01 00:00:00", "2098-01-01 01:00:00"]);
    const past = { startTime: "2001-01-01 00:00:00", endTime: "2001-01-02 00:00:00" };
    const reply = await world.call("POST", path, past);
    assert.is(reply.failure.errors.endTime, "is past");
  });

  test("it may be ended by an edit", async () => {
    const silence = await world.make(path, { ...span, startTime: "2098-01-01 00:00:00" });
    const edited = await world.call("PUT", `${path}/${silence.id}`, { endTime: "2098-01-01 00:00:01" });
    assert.is(edited.record.endTime, "2098-01-01 00:00:01");
    refused(
      await world.call("PUT", `${path}/${silence.id}`, { endTime: "2097-01-01 00:00:00" }),
      "PARAMETER_INVALID",
      "endTime",
    );
  });
});
