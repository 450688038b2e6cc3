/** Faults published of Mosquitto, each replayed in kind. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Packet } from "mqtt-packet";
import { makePolicy } from "../factories.js";
import { eventsOf } from "../ingest/support.js";
import {
  ack,
  badTexts,
  bytesOf,
  type Client,
  codeOf,
  connected,
  connectPacket,
  hex,
  openClient,
  publish,
  publishing,
  subscribed,
  subscribing,
} from "../ingest/transports/mqtt/raw-client.js";
import { assert, until } from "../suite.js";
import type { Rec, World } from "../world.js";
import { connectionsBack, heldBytes, publishedSuite } from "./support.js";

const versions = [4, 5] as const;
const endless = hex("ffffff7f");
const keptBytesMax = 5e6;

publishedSuite("Mosquitto", (test, world, scene) => {
  const endsUnread = async (bytes: Uint8Array) => {
    const client = await openClient(world.mqtt, 4);
    client.send(bytes);
    await client.ended();
    assert.is(client.bytes().length, 0);
  };

  test("CVE-2017-7650: a client id or user name of # or + matches no more than itself in a policy", async () => {
    const policy = await makePolicy(world, { topic: "%u/up", access: 0, allow: 1 });
    const device = await scene.device({ deviceUsername: "+" });
    await bind(world, policy, device);
    for (const clientId of ["#", "+"]) {
      const client = await connected(world, device, 5, { clientId });
      client.send(publishing("victim/up"));
      assert.is((await client.next("puback")).reasonCode, 0x87);
      await client.leave();
    }
    assert.equal(await eventsOf(world, device), []);
  });

  test("CVE-2017-7651: large CONNECTs fill no memory before anybody has authenticated", async () => {
    const before = heldBytes();
    const flood: Client[] = [];
    for (let i = 0; i < 100; i++) {
      const client = await openClient(world.mqtt, 4);
      client.send(Buffer.concat([hex("10"), endless, Buffer.alloc(64 * 1024)]));
      flood.push(client);
    }
    await until(() => flood.every(({ closed }) => closed), { what: "the end of each" });
    assert.ok(flood.every((client) => client.bytes().length === 0));
    flood.length = 0;
    assert.ok(heldBytes() - before < keptBytesMax);
  });

  test("CVE-2017-7653: a topic that is not UTF-8 reaches nobody, and ends its sender alone", async () => {
    const device = await scene.device();
    for (const version of versions) {
      const hearer = await connected(world, device, version, { clientId: "hearer" });
      await subscribed(hearer, ["#"]);
      for (const [what, text] of badTexts) {
        const sender = await connected(world, device, version, { clientId: "sender" });
        sender.send(bytesOf(0x30, text, ...(version === 5 ? [0] : []), Buffer.from("m")));
        await sender.ended();
        assert.equal(await hearer.all("publish"), [], what);
      }
      await hearer.leave();
    }
  });

  test("CVE-2017-7654: crafted CONNECTs of unauthenticated clients leave nothing in memory", async () => {
    const device = await scene.device();
    const valid = connectPacket(device, 4, { clientId: "x".repeat(12_000) });
    const flags = 0xc6 | 0x18; // a will of QoS 3
    const crafted = bytesOf(0x10, "MQTT", 4, flags, 0, 0, valid.clientId, "w", "w".repeat(1000), "u", "p");
    await endsUnread(crafted);
    const before = heldBytes();
    for (let i = 0; i < 800; i++) await endsUnread(crafted);
    assert.ok(heldBytes() - before < keptBytesMax);
    await connectionsBack(world, 1);
  });

  test("CVE-2018-12543: a message on a topic that begins with $ is kept like any other", async () => {
    const device = await scene.device();
    const client = await connected(world, device, 4);
    for (const [i, topic] of ["$test/test", "$", "$SYS/broker", "$share/a/b"].entries()) {
      await publish(client, topic, { messageId: i + 1 });
    }
    const topics = (await eventsOf(world, device)).map(({ topic }) => topic);
    assert.equal(topics.reverse(), ["$test/test", "$", "$SYS/broker", "$share/a/b"]);
    await client.leave();
  });

  test("CVE-2018-12546: what was retained is not delivered once the topic is denied", async () => {
    const device = await scene.device();
    const sender = await connected(world, device, 5, { clientId: "sender" });
    await publish(sender, "door", { retain: true, payload: "open" });
    const early = await connected(world, device, 5, { clientId: "early" });
    await subscribed(early, ["#"]);
    assert.is((await early.all("publish")).length, 1);
    await bind(world, await makePolicy(world, { topic: "door", access: 2, allow: 0 }), device);
    const late = await connected(world, device, 5, { clientId: "late" });
    await subscribed(late, ["#"]);
    assert.equal(await late.all("publish"), []);
    for (const client of [sender, early, late]) await client.leave();
  });

  test("CVE-2018-12551: an empty user name, or none, lets nobody in", async () => {
    const device = await scene.device();
    for (const version of versions) {
      for (const fields of [
        { username: "", password: Buffer.alloc(0) },
        { username: "\t", password: Buffer.alloc(0) },
        { username: String(device.deviceUsername), password: Buffer.alloc(0) },
      ]) {
        const client = await openClient(world.mqtt, version);
        client.send(connectPacket(device, version, fields));
        assert.ok((codeOf(await client.next("connack")) ?? 0) > 0, JSON.stringify(fields));
        await client.ended();
      }
      const nobody = await openClient(world.mqtt, version);
      nobody.send(bytesOf(0x10, "MQTT", version, 2, 0, 0, ...(version === 5 ? [0] : []), "raw"));
      assert.ok((codeOf(await nobody.next("connack")) ?? 0) > 0);
      await nobody.ended();
    }
  });

  test("CVE-2019-11778: a will whose delay is longer than its session is published once, when that ends", async () => {
    const device = await scene.device();
    const will = { topic: "will", payload: Buffer.from("w"), qos: 1 as const, retain: false };
    const client = await connected(world, device, 5, {
      will: { ...will, properties: { willDelayInterval: 3600 } },
      properties: { sessionExpiryInterval: 1 },
    });
    await client.cut();
    const wills = async () => (await eventsOf(world, device)).filter(({ topic }) => topic === "will");
    await until(async () => (await wills()).length > 0, { what: "the will" });
    await sleep(300);
    assert.is((await wills()).length, 1);
  });

  test("CVE-2019-11779: a filter of 65,400 slashes is answered or refused, and exhausts no stack", async () => {
    const device = await scene.device();
    for (const version of versions) {
      const client = await connected(world, device, version, { clientId: "slashes" });
      for (const qos of [0, 1] as const) client.send(subscribing(["/".repeat(65_400)], { qos }));
      client.send(publishing("/".repeat(1000), { qos: 0 }));
      const answers = () => client.packets.filter(({ cmd }) => cmd === "suback").length;
      await until(() => client.closed || answers() === 2, { what: "an answer or an end" });
      if (!client.closed) await client.leave();
      const again = await connected(world, device, version, { clientId: "slashes" });
      await again.leave();
    }
  });

  test("CVE-2021-28166: a CONNACK sent by a client ends its connection", async () => {
    const device = await scene.device();
    for (const bytes of ["20020000", "2003000000", "200600000321000a", "20050000022100", "2000"]) {
      const client = await connected(world, device, 5);
      client.send(hex(bytes));
      await client.ended();
      assert.is(client.packets.at(-1)?.cmd, "disconnect", bytes);
    }
  });

  test("CVE-2021-34431: CONNECTs on a connection that has one end it, and leave nothing in memory", async () => {
    const device = await scene.device();
    const property = (i: number) => ({ userProperties: { [`k${i}`]: "v".repeat(15_000) } });
    const twice = async (i: number) => {
      const client = await connected(world, device, 5);
      client.send(connectPacket(device, 5, { properties: property(i) }));
      await client.endedWith(0x82);
    };
    await twice(0);
    const before = heldBytes();
    for (let i = 1; i < 400; i++) await twice(i);
    assert.ok(heldBytes() - before < keptBytesMax);
  });

  test("CVE-2021-34432: a PUBLISH whose topic has no characters is a protocol error", async () => {
    const device = await scene.device();
    for (const version of versions) {
      for (const first of [0x30, 0x32, 0x34]) {
        const client = await connected(world, device, version);
        const rest = [...(first === 0x30 ? [] : [0, 1]), ...(version === 5 ? [0] : [])];
        client.send(bytesOf(first, "", ...rest, Buffer.from("m")));
        await client.ended();
        assert.equal(await eventsOf(world, device), []);
      }
    }
  });

  test("CVE-2021-34434: what is denied while a session is away is not delivered when it comes back", async () => {
    const device = await scene.device();
    const kept = { clientId: "kept", clean: false, properties: { sessionExpiryInterval: 600 } };
    const away = await connected(world, device, 5, kept);
    await subscribed(away, ["plan/#", "open"], { qos: 1 });
    await away.cut();
    await bind(world, await makePolicy(world, { topic: "plan/#", access: 1, allow: 0 }), device);
    const sender = await connected(world, device, 5, { clientId: "sender" });
    await publish(sender, "plan/a", { messageId: 1 });
    await publish(sender, "open", { messageId: 2 });
    const back = await openClient(world.mqtt, 5);
    back.send(connectPacket(device, 5, { ...kept, clean: false }));
    assert.is((await back.next("connack")).sessionPresent, true);
    const got = await back.all("publish");
    assert.equal(
      got.map(({ topic }) => topic),
      ["open"],
    );
    await sender.leave();
    await back.cut();
  });

  test("CVE-2021-41039: thousands of user properties in a CONNECT are taken up to its bound, and cheap", async () => {
    const device = await scene.device();
    const { username = "", password = "" } = connectPacket(device, 5);
    const connect = (pairs: number) => {
      const properties = Buffer.alloc(pairs * 5, hex("2600000000"));
      const length = Buffer.from([(properties.length & 0x7f) | 0x80, properties.length >> 7]);
      return bytesOf(0x10, "MQTT", 5, 0xc2, 0, 0, length, properties, "many", username, String(password));
    };
    const began = process.cpuUsage();
    for (let i = 0; i < 20; i++) {
      const client = await openClient(world.mqtt, 5);
      client.send(connect(3200));
      assert.is(codeOf(await client.next("connack")), 0);
      await client.leave();
    }
    const { user } = process.cpuUsage(began);
    assert.ok(user < 5e6, `${user} µs for 64,000 properties`);
    const beyond = await openClient(world.mqtt, 5);
    beyond.send(connect(3276).subarray(0, 3), Buffer.alloc(20_000));
    await beyond.ended();
    assert.is(beyond.packets.filter(({ cmd }) => cmd === "connack").length, 0);
  });

  test("CVE-2023-0809: a first packet that is no CONNECT ends the connection whatever length it declares", async () => {
    for (let type = 2; type < 16; type++) await endsUnread(Buffer.concat([Buffer.of(type << 4), endless]));
    await connectionsBack(world, 1);
  });

  test("CVE-2023-28366: one packet id used again and again at QoS 2 is one message, and memory stays", async () => {
    const device = await scene.device();
    const client = await connected(world, device, 4);
    client.socket.pause();
    const before = heldBytes();
    const payload = "x".repeat(1000);
    for (let i = 0; i < 20; i++) {
      const some = Array.from({ length: 500 }, () => publishing("data", { qos: 2, messageId: 7, payload }));
      client.send(...some);
    }
    await until(async () => (await eventsOf(world, device)).length > 0, { what: "the message" });
    client.socket.resume();
    const pubrecs = () => client.packets.filter(({ cmd }) => cmd === "pubrec").length;
    await until(() => pubrecs() === 10_000, { what: "each PUBREC", timeoutMs: 60_000 });
    client.send(ack("pubrel", 7));
    await client.next("pubcomp");
    assert.is((await eventsOf(world, device)).length, 1);
    await client.leave();
    assert.ok(heldBytes() - before < keptBytesMax);
  });

  test("CVE-2023-3592: a will with properties that no will has is refused, and leaves nothing in memory", async () => {
    const device = await scene.device();
    const { username = "", password = "" } = connectPacket(device, 5);
    const before = heldBytes();
    // Topic alias, Maximum Packet Size, Session Expiry Interval, Subscription Identifier, and none at all.
    for (const [i, property] of ["230001", "2700000001", "1100000001", "0b01", "7f00"].entries()) {
      const properties = hex(property);
      const will = [properties.length, properties, "will", "x".repeat(15_000)];
      const connect = bytesOf(0x10, "MQTT", 5, 0xc6, 0, 0, 0, `c${i}`, ...will, username, String(password));
      for (let round = 0; round < 80; round++) {
        const client = await openClient(world.mqtt, 5);
        client.send(connect);
        await client.ended();
        assert.ok([0x81, 0x82].includes(codeOf(await client.next("connack")) ?? 0), property);
      }
    }
    assert.ok(heldBytes() - before < keptBytesMax);
    assert.equal(await eventsOf(world, device), []);
  });

  test("CVE-2023-5632: connections that say nothing cost no time of the processor", async () => {
    const silent: Client[] = [];
    for (let i = 0; i < 200; i++) silent.push(await openClient(world.mqtt, 4));
    const began = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(began);
    assert.ok(user + system < 700e3, `${user + system} µs in a second`);
    await Promise.all(silent.map((client) => client.cut()));
  });

  test("CVE-2024-8376: every order of SUBSCRIBE, UNSUBSCRIBE, PUBLISH and DISCONNECT leaves no session behind", async () => {
    const device = await scene.device();
    for (const version of versions) {
      const packets: Packet[] = [
        subscribing(["a", "b/#"], { qos: 1 }),
        { cmd: "unsubscribe", messageId: 2, unsubscriptions: ["a", "nowhere"] },
        publishing("a", { messageId: 3 }),
        { cmd: "disconnect" },
      ];
      for (const order of orders(packets)) {
        const client = await openClient(world.mqtt, version);
        client.send(connectPacket(device, version, { clientId: "orders" }), ...order);
        await client.ended();
        assert.is(codeOf(await client.next("connack")), 0);
      }
    }
    await connectionsBack(world, 1);
    const client = await connected(world, device, 4, { clientId: "orders" });
    assert.equal(await client.all("publish"), []);
    await client.leave();
  });

  test("CVE-2024-10525: a SUBACK of a client, and a SUBSCRIBE that names nothing, end the connection", async () => {
    const device = await scene.device();
    for (const [version, bytes] of [
      [4, "90020001"],
      [5, "9003000100"],
      [4, "82020001"],
      [5, "8203000100"],
      [4, "a2020001"],
    ] as const) {
      const client = await connected(world, device, version);
      client.send(hex(bytes));
      await client.ended();
      assert.equal(
        client.packets.filter(({ cmd }) => cmd === "suback"),
        [],
        bytes,
      );
    }
    await connectionsBack(world, 1);
  });
});

async function bind(world: World, policy: Rec, device: Rec): Promise<void> {
  const bound = await world.call("POST", `/api/v1/policies/${policy.id}/devices`, {
    devicesIntID: [device.id],
  });
  assert.is(bound.status, 201, bound.text);
}

function orders<T>(all: readonly T[]): T[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((first, i) => orders(all.toSpliced(i, 1)).map((rest) => [first, ...rest]));
}
