/** Wills, MQTT 3.1.1 and 5.0 §3.1.2.5. */
import type { IConnectPacket } from "mqtt-packet";
import { assert, until } from "../../../suite.js";
import type { Rec } from "../../../world.js";
import {
  bytesOf,
  type Client,
  connected,
  connectPacket,
  hex,
  type Of,
  openClient,
  subscribed,
  type Version,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

type Will = NonNullable<IConnectPacket["will"]>;

mqttSuite("MQTT, wills", ({ each, five }, world) => {
  const willing = (
    device: Rec,
    version: Version,
    will: Partial<Will> = {},
    fields: Partial<IConnectPacket> = {},
  ) =>
    connected(world, device, version, {
      clientId: "willing",
      will: { topic: "will", payload: Buffer.from("gone"), qos: 1, retain: false, ...will },
      ...fields,
    });

  async function watching(device: Rec, version: Version): Promise<Client> {
    const client = await connected(world, device, version, { clientId: "watcher" });
    await subscribed(client, ["#"]);
    return client;
  }

  async function got(client: Client, count: number): Promise<Of<"publish">[]> {
    const all = () => client.packets.filter((one): one is Of<"publish"> => one.cmd === "publish");
    await until(() => all().length >= count, { what: `${count} wills` });
    return client.all("publish");
  }

  const payloads = async (client: Client): Promise<string[]> =>
    (await client.all("publish")).map(({ payload }) => `${payload}`);

  each("a will is published once when the connection is lost, at its QoS", async (device, version) => {
    const watcher = await watching(device, version);
    for (const qos of [0, 1, 2] as const) {
      await (await willing(device, version, { qos, payload: Buffer.from(`q${qos}`) })).cut();
      const all = await got(watcher, qos + 1);
      assert.is(all.length, qos + 1);
      const { topic, payload, qos: with_, retain } = all[qos] as Of<"publish">;
      assert.equal([topic, `${payload}`, with_, retain], ["will", `q${qos}`, qos, false]);
    }
    await watcher.leave();
  });

  each("a will is an uplink like any other: it is kept as an event", async (device, version) => {
    await (await willing(device, version)).cut();
    const events = async () => (await world.call("GET", `/api/v1/devices/${device.id}/events`)).page.items;
    await until(async () => (await events()).length === 1, { what: "the event" });
    const [event] = await events();
    assert.equal([event?.topic, event?.payload], ["will", "gone"]);
  });

  each("DISCONNECT takes the will away, and without one nothing is published", async (device, version) => {
    const watcher = await watching(device, version);
    await (await willing(device, version)).leave();
    await (await connected(world, device, version, { clientId: "willing" })).cut();
    await (await willing(device, version, { payload: Buffer.from("last") })).cut();
    await got(watcher, 1);
    assert.equal(await payloads(watcher), ["last"]);
    await watcher.leave();
  });

  each("a will is published when we end the connection", async (device, version) => {
    const watcher = await watching(device, version);
    const silent = await willing(device, version, { payload: Buffer.from("silent") }, { keepalive: 1 });
    await got(watcher, 1);
    await silent.ended();
    const wrong = await willing(device, version, { payload: Buffer.from("wrong") });
    wrong.send(connectPacket(device, version));
    await got(watcher, 2);
    const first = await willing(device, version, { payload: Buffer.from("taken over") });
    const second = await willing(device, version);
    await first.ended();
    await got(watcher, 3);
    await second.leave();
    assert.equal(await payloads(watcher), ["silent", "wrong", "taken over"]);
    await watcher.leave();
  });

  each("a will is retained where its flag says so", async (device, version) => {
    for (const retain of [false, true]) {
      const watcher = await watching(device, version);
      const topic = `will/${retain}`;
      await (await willing(device, version, { topic, retain })).cut();
      await got(watcher, 1);
      await watcher.leave();
    }
    const late = await connected(world, device, version);
    await subscribed(late, ["will/#"], { qos: 1 });
    const all = await late.all("publish");
    assert.equal(
      all.map(({ topic, retain }) => [topic, retain]),
      [["will/true", true]],
    );
    await late.leave();
  });

  five("DISCONNECT 0x04 has the will published", async (device) => {
    const watcher = await watching(device, 5);
    const client = await willing(device, 5);
    client.send(hex("e00104"));
    await client.ended();
    await got(watcher, 1);
    const another = await willing(device, 5);
    another.send(hex("e00198"));
    await another.ended();
    await got(watcher, 2);
    await watcher.leave();
  });

  five(
    "a will with a delay waits, and is not published where the session goes on in time",
    async (device) => {
      const watcher = await watching(device, 5);
      const kept = { clean: false, properties: { sessionExpiryInterval: 100 } };
      const will = (payload: string, willDelayInterval: number): Partial<Will> => ({
        payload: Buffer.from(payload),
        properties: { willDelayInterval },
      });
      await (await willing(device, 5, will("averted", 60), kept)).cut();
      const back = await willing(device, 5, will("late", 1), kept);
      world.clock.pass(61_000);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      assert.equal(await payloads(watcher), []);
      await back.cut();
      assert.equal(await payloads(watcher), []);
      await got(watcher, 1);
      assert.equal(await payloads(watcher), ["late"]);
      await watcher.leave();
    },
  );

  five("a will with a delay is published at the latest when its session ends", async (device) => {
    const watcher = await watching(device, 5);
    const will = { properties: { willDelayInterval: 1000 } };
    await (await willing(device, 5, will)).cut();
    await got(watcher, 1);
    const expiry = { properties: { sessionExpiryInterval: 1 } };
    await (await willing(device, 5, will, expiry)).cut();
    await got(watcher, 2);
    await (await willing(device, 5, will, { properties: { sessionExpiryInterval: 100 } })).cut();
    const anew = await connected(world, device, 5, { clientId: "willing" });
    await got(watcher, 3);
    for (const one of [anew, watcher]) await one.leave();
  });

  five("a will has its properties, its user properties in their order", async (device) => {
    const watcher = await watching(device, 5);
    const pairs = [0x26, "b", "2", 0x26, "a", "1", 0x26, "b", "1"];
    const more = [0x01, 0x01, 0x03, "text/plain", 0x08, "answers", 0x09, "id", 0x02, 0, 0, 0, 100];
    const properties = bytesOf(0, ...more, ...pairs).subarray(1);
    const raw = await connectedBy(device, properties);
    await raw.cut();
    const [packet] = await got(watcher, 1);
    const { contentType, responseTopic, payloadFormatIndicator, messageExpiryInterval } =
      packet?.properties ?? {};
    assert.equal([contentType, responseTopic, payloadFormatIndicator], ["text/plain", "answers", true]);
    assert.ok(Number(messageExpiryInterval) > 90);
    assert.ok(watcher.bytes().includes(bytesOf(0, ...pairs).subarray(2)), "the pairs in their order");
    await watcher.leave();
  });

  async function connectedBy(device: Rec, willProperties: Uint8Array): Promise<Client> {
    const raw = await openClient(world.mqtt, 5);
    const [user, token] = [String(device.deviceUsername), String(device.token)];
    raw.send(bytesOf(0x10, "MQTT", 5, 0xc6, 0, 0, 0, "willing", willProperties, "will", "gone", user, token));
    await raw.next("connack");
    return raw;
  }
});
