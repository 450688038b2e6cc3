/** Messages up through Mosquitto: taken in order, or refused with a counted reason, and the rest goes on. */
import type { MqttClient } from "mqtt";
import { payloadsOf, valuesOf } from "../../../flow/support.js";
import { assert, until } from "../../../suite.js";
import type { Rec } from "../../../world.js";
import { brokerSuite } from "./support.js";

brokerSuite("uplinks through the broker", (test, world) => {
  let client: MqttClient;
  test.before(async () => {
    client = await world.broker.connect();
  });
  test.after(() => client.endAsync());

  const up = (device: Rec, topic: string) => `devices/${device.deviceID}/up/${topic}`;
  const refused = (reason: string) =>
    world.service.metric("tidemark_broker_refused_total", `reason="${reason}"`);
  /** Runs until as many more are refused for the reason. */
  async function isRefused(reason: string, action: () => Promise<unknown>, times = 1): Promise<void> {
    const before = await refused(reason);
    await action();
    await until(async () => (await refused(reason)) === before + times, {
      what: `${times} refused: ${reason}`,
    });
  }
  const hasEvents = (device: Rec, expected: readonly string[]) =>
    until(async () => JSON.stringify(await payloadsOf(world.service, device)) === JSON.stringify(expected), {
      what: `events ${expected}`,
    });
  async function passes(device: Rec): Promise<void> {
    const before = await payloadsOf(world.service, device);
    await client.publishAsync(up(device, "data"), '{"n":77}', { qos: 1 });
    await hasEvents(device, [...before, '{"n":77}']);
  }

  for (const qos of [0, 1, 2] as const) {
    test(`messages of QoS ${qos} are events and points, in their order`, async () => {
      const device = await world.device();
      const sent = Array.from({ length: 200 }, (_, n) => JSON.stringify({ n }));
      // Mosquitto takes no more than 20 of QoS 2 at once.
      for (let at = 0; at < sent.length; at += 20) {
        const some = sent.slice(at, at + 20);
        await Promise.all(some.map((text) => client.publishAsync(up(device, "a/b"), text, { qos })));
      }
      await hasEvents(device, sent);
      await world.service.settled();
      assert.equal((await valuesOf(world.service, device)).length, 200);
      const { body } = await world.service.call("GET", `/api/v1/devices/${device.id}/events?_limit=1`);
      assert.is((body.items as Rec[])[0]?.topic, "a/b");
    });
  }

  test("topics that are no device's, and devices that are not there, are counted; the rest goes on", async () => {
    const device = await world.device();
    const publish = (topic: string) => () => client.publishAsync(topic, '{"n":1}', { qos: 1 });
    await isRefused("topic", publish("devices//up/data"));
    await isRefused("topic", publish(up(device, "")));
    await isRefused("device", publish("devices/nobody/up/data"));
    await isRefused("device", publish("devices/nobody/up/data"));
    await isRefused("device", publish("devices/\ud83e\udd89/up/data"));
    await isRefused(
      "device",
      () => Promise.all(Array.from({ length: 50 }, (_, i) => publish(`devices/nobody-${i}/up/x`)())),
      50,
    );
    await passes(device);
  });

  test("a device that is made after its first message was refused is taken from then on", async () => {
    await isRefused("device", () => client.publishAsync("devices/late-1/up/data", '{"n":1}', { qos: 1 }));
    const device = await world.device({ deviceID: "late-1" });
    await passes(device);
  });

  test("payloads: 256 KiB is taken, a byte more, 1 MiB and long properties are counted; no text, nothing at all", async () => {
    const device = await world.device();
    const largest = Buffer.alloc(256 * 1024, "x");
    for (const payload of [Buffer.alloc(256 * 1024 + 1, "x"), Buffer.alloc(1024 * 1024)]) {
      await isRefused("oversize", () => client.publishAsync(up(device, "data"), payload, { qos: 1 }));
    }
    const properties = { userProperties: { many: Array.from({ length: 2000 }, () => "12345678") } };
    const modern = await world.broker.connect({ protocolVersion: 5 });
    await isRefused("oversize", () => modern.publishAsync(up(device, "data"), "x", { qos: 1, properties }));
    await modern.endAsync();
    for (const payload of [largest, Buffer.from([0, 255, 254]), Buffer.alloc(0)]) {
      await client.publishAsync(up(device, "data"), payload, { qos: 1 });
    }
    await hasEvents(device, [largest.toString(), "base64:AP/+", ""]);
  });

  test("blocked: counted and not kept; unblocked: taken", async () => {
    const device = await world.device();
    const block = (blocked: number) => world.service.call("PUT", `/api/v1/devices/${device.id}`, { blocked });
    assert.is((await block(1)).status, 200);
    await isRefused("blocked", () => client.publishAsync(up(device, "data"), '{"n":1}', { qos: 1 }));
    assert.is((await block(0)).status, 200);
    await hasEvents(device, []);
    await passes(device);
  });

  test("what a policy forbids is a refused event without points", async () => {
    const device = await world.device();
    const policy = await world.service.make("/api/v1/policies", {
      name: "no secrets",
      topic: "secret/#",
      access: 0,
      allow: 0,
    });
    const bound = await world.service.call("POST", `/api/v1/devices/${device.id}/policies`, {
      ids: [policy.id],
    });
    assert.is(bound.status, 201, bound.text);
    await client.publishAsync(up(device, "secret/x"), '{"n":1}', { qos: 1 });
    await client.publishAsync(up(device, "open"), '{"n":2}', { qos: 1 });
    await hasEvents(device, ['{"n":1}', '{"n":2}']);
    await world.service.settled();
    assert.equal(await valuesOf(world.service, device), [2]);
  });

  test("deleted: refused from then on", async () => {
    const device = await world.device();
    await passes(device);
    const gone = await world.service.call("DELETE", `/api/v1/devices?ids=${device.id}`);
    assert.is(gone.status, 204, gone.text);
    await isRefused("device", () => client.publishAsync(up(device, "data"), '{"n":1}', { qos: 1 }));
  });

  test("what the device's own clients are subscribed to at the endpoint reaches them", async () => {
    const device = await world.device();
    const { connectAsync } = await import("mqtt");
    const own = await connectAsync(world.service.mqtt, {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
    });
    const got: string[] = [];
    own.on("message", (topic, payload) => got.push(`${topic} ${payload}`));
    await own.subscribeAsync("data", { qos: 1 });
    await client.publishAsync(up(device, "data"), "hello", { qos: 1 });
    await until(() => got.length === 1, { what: "the message" });
    assert.equal(got, ["data hello"]);
    await own.endAsync();
  });
});
