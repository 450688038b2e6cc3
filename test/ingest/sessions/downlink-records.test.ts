import { setTimeout as delay } from "node:timers/promises";
import { createDownlinkRecords } from "../../../ingest/sessions/downlink-records.js";
import { createWorkBudget, workMax } from "../../../ingest/uplinks/work-budget.js";
import { assert, suite } from "../../suite.js";

/** A journal that commits by `commit` only, and sessions that cost so much each. */
function begin(cost: number, topicOf?: { failing: string }) {
  const work = createWorkBudget();
  const written: { readonly topic: string; readonly commit: () => void }[] = [];
  const sent: string[] = [];
  const records = createDownlinkRecords(
    {
      append: (input, appended) => {
        const topic = "topic" in input ? input.topic : "";
        if (topic === topicOf?.failing) throw new RangeError("too large for a record");
        return written.push({ topic, commit: () => appended?.(0) });
      },
    },
    {
      publishCost: () => cost,
      send: ({ device, topic }) => {
        sent.push(`${topic} ${device}`);
        return { sent: 0, awaited: 1 };
      },
    },
    () => 0,
    work,
  );
  const payload = Buffer.from("p");
  let kept = 0;
  const send = (tenant: number, device: number, topic = "t"): void =>
    records.send(
      { tenant, device },
      { topic, payload, qos: 1, properties: null, receipt: device },
      () => undefined,
      () => kept++,
    );
  return { work, written, sent, send, kept: () => kept };
}

suite("messages to many devices", (test) => {
  test("what is light stands in one record, in this turn", async () => {
    const { written, send } = begin(1);
    for (let device = 1; device <= 250; device++) send(1, device);
    await Promise.resolve();
    assert.is(written.length, 1);
  });

  test("what is looked for in many subscriptions goes in portions, in the order of each device, at its tenant's cost", async () => {
    const { work, written, sent, send, kept } = begin(workMax / 16);
    for (const topic of ["first", "second"])
      for (let device = 1; device <= 100; device++) send(1, device, topic);
    send(2, 1000, "other");
    for (let rounds = 0; kept() < 201 && rounds < 1000; rounds++) {
      await delay(0);
      const under = written.splice(0);
      if (rounds === 0)
        assert.ok(
          under.some(({ topic }) => topic === "other"),
          "another tenant's goes at once",
        );
      assert.ok(under.length <= 5, `${under.length} records in one commit`);
      const before = sent.length;
      for (const { commit } of under) commit();
      assert.ok(sent.length - before <= 17, `${sent.length - before} devices in one commit`);
    }
    assert.is(kept(), 201);
    const order = sent.filter((one) => one.endsWith(" 7"));
    assert.equal(order, ["first 7", "second 7"]);
    assert.is(work.take(3, workMax), true, "all of the budget is free again");
  });

  test("one that cannot be recorded releases its capacity", async () => {
    const { work, written, send, kept } = begin(workMax, { failing: "large" });
    send(1, 1, "large");
    await delay(0);
    send(1, 2, "small");
    await delay(0);
    for (const { commit } of written) commit();
    assert.equal([written.map(({ topic }) => topic), kept()], [["small"], 2]);
    assert.is(work.take(3, workMax), true);
  });
});
