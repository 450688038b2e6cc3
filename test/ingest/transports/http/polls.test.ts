/** Polls of one device: so many wait at once, and the newest of them are heard. */
import { PolledInbox } from "../../../../ingest/clients/polled-inbox.js";
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert, suite, until } from "../../../suite.js";
import { worldSuite } from "../../../world.js";
import { asDevice } from "./support.js";

suite("polls of an inbox", (test) => {
  test("with a ninth the oldest ends without a message, and a message goes to the oldest that waits", () => {
    const inbox = new PolledInbox({ outgoing: new Map() }, { isDue: () => true, settle: () => undefined });
    const answers: (string | null)[] = Array.from({ length: 100 }, () => "waits");
    for (let n = 0; n < 100; n++) inbox.wait((message) => (answers[n] = message?.topic ?? null));
    assert.equal(answers.indexOf("waits"), 92);
    assert.ok(answers.slice(0, 92).every((one) => one === null));
    const message = { topic: "t", payload: Buffer.alloc(0), properties: null };
    inbox.deliver(message as unknown as Parameters<PolledInbox["deliver"]>[0]);
    assert.equal(answers[92], "t");
    inbox.close();
    assert.not(answers.includes("waits"));
  });
});

worldSuite("HTTP, polls", (test, world) => {
  test("a device that comes again and again has its last polls open, and 204 for the others", async () => {
    const device = await makeDevice(world, await makeProduct(world, { cloudProtocol: 5 }));
    const statuses: number[] = [];
    const polls: Promise<unknown>[] = [];
    for (let n = 1; n <= 12; n++) {
      const poll = asDevice(world.http, device, "GET", "/api/v1/inbox?wait=50");
      polls.push(poll.then(({ status }) => statuses.push(status)));
      await until(() => statuses.length === Math.max(0, n - 8) || n <= 8, { what: `poll ${n}` });
    }
    assert.equal(statuses, [204, 204, 204, 204]);
    const command = { deviceID: device.deviceID, topic: "inbox", payload: "{}", qos: 1 };
    await world.call("POST", "/api/v1/device_publish", command);
    await until(() => statuses.includes(200), { what: "the command" });
  });
});
