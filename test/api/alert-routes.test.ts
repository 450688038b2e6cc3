import { makeDevice, makeGroup, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/alert_routes";
const matcher = [
  ...["severities", "alertName", "productIntID", "productName", "groupIntID", "groupName"],
  ...["deviceIntID", "deviceName"],
];
const form = [
  ...["id", "name", "enable", ...matcher, "contactPoints", "groupBy", "wait", "groupInterval"],
  ...["repeatInterval", "sendResolved", "muteWindows", "timezone", "createUser", "createAt", "updateAt"],
];

worldSuite("alert routes", (test, world) => {
  let contact: Promise<number> | undefined;
  const contactPoint = (): Promise<number> => {
    contact ??= world
      .make("/api/v1/contact_points", {
        name: unique("contact"),
        type: "webhook",
        settings: { url: "https://hooks.example.com/a" },
      })
      .then(({ id }) => id);
    return contact;
  };
  const body = async (fields: object = {}) => ({
    name: unique("route"),
    contactPoints: [await contactPoint()],
    ...fields,
  });

  testResource(test, world, {
    path,
    body,
    required: ["name", "contactPoints"],
    optional: { severities: [1, 2], alertName: "hot", timezone: "Asia/Shanghai" },
    fixed: {},
    name: "name",
    keys: { stored: form, detail: form, listed: form },
  });

  test("what is left out has its default, and null sets it again", async () => {
    const route = await world.make(path, await body());
    const defaults = {
      enable: 1,
      groupBy: ["alertName"],
      wait: 30,
      groupInterval: 300,
      repeatInterval: 14_400,
      sendResolved: 1,
      muteWindows: [],
    };
    const shown = (record: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(Object.keys(defaults).map((field) => [field, record[field]]));
    assert.equal(shown(route), defaults);
    const other = {
      enable: 0,
      groupBy: [],
      wait: 0,
      groupInterval: 10,
      repeatInterval: 0,
      sendResolved: 0,
      muteWindows: [{ days: [1], from: "22:00", to: "06:00" }],
    };
    assert.equal(shown((await world.call("PUT", `${path}/${route.id}`, other)).record), other);
    const cleared = Object.fromEntries(Object.keys(defaults).map((field) => [field, null]));
    assert.equal(shown((await world.call("PUT", `${path}/${route.id}`, cleared)).record), defaults);
  });

  test("wrong fields are named", async () => {
    const wrong: Readonly<Record<string, readonly unknown[]>> = {
      contactPoints: [[], [999_999], [1, 1].map(() => 999_998)],
      severities: [[], [0], [5], "1"],
      productIntID: [999_999],
      groupIntID: [999_999],
      deviceIntID: [999_999],
      groupBy: [["colour"]],
      wait: [-1, 3601],
      groupInterval: [9, 86_401],
      repeatInterval: [1, 59, 30 * 86_400 + 1],
      timezone: ["Mars/Olympus", ""],
      muteWindows: [Array.from({ length: 21 }, () => ({ days: [1], from: "00:00", to: "01:00" }))],
    };
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        const reply = await world.call("POST", path, await body({ [field]: value }));
        assert.is(reply.status, 400, `${field}: ${JSON.stringify(value)}`);
        assert.ok(
          Object.keys(reply.failure.errors).some((name) => name.startsWith(field)),
          reply.text,
        );
      }
    }
    for (const window of [
      { days: [0], from: "00:00", to: "01:00" },
      { days: [], from: "00:00", to: "01:00" },
      { days: [1], from: "24:00", to: "01:00" },
      { days: [1], from: "1:00", to: "02:00" },
    ]) {
      refused(await world.call("POST", path, await body({ muteWindows: [window] })), "PARAMETER_INVALID");
    }
  });

  test("it names what it is about, and goes with it", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const group = await makeGroup(world, product);
    const matched = { productIntID: product.id, groupIntID: group.id, deviceIntID: device.id };
    const route = await world.make(path, await body(matched));
    assert.equal(
      [route.productName, route.groupName, route.deviceName],
      [product.productName, group.groupName, device.deviceName],
    );
    assert.is((await world.call("DELETE", `/api/v1/groups?ids=${group.id}`)).status, 204);
    refused(await world.call("GET", `${path}/${route.id}`), "DATA_NOT_FOUND");
  });

  test("its contact points may be others, and each counts once", async () => {
    const [a, b] = await Promise.all(
      [1, 2].map(() =>
        world.make("/api/v1/contact_points", {
          name: unique("contact"),
          type: "email",
          settings: { to: ["a@example.com"] },
        }),
      ),
    );
    const route = await world.make(path, await body());
    const edited = await world.call("PUT", `${path}/${route.id}`, { contactPoints: [a?.id, b?.id] });
    assert.equal(edited.record.contactPoints, [
      { id: a?.id, name: a?.name },
      { id: b?.id, name: b?.name },
    ]);
    const twice = await world.call("PUT", `${path}/${route.id}`, { contactPoints: [a?.id, a?.id] });
    refused(twice, "PARAMETER_INVALID", "contactPoints");
  });
});
