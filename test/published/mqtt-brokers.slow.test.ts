/** Faults published of EMQX, VerneMQ, HiveMQ, NanoMQ, FlashMQ, RabbitMQ, ActiveMQ, aedes, mqtt-packet and MQTT.js. */
import { eventsOf } from "../ingest/support.js";
import {
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
} from "../ingest/transports/mqtt/raw-client.js";
import { assert, until } from "../suite.js";
import type { Reply } from "../world.js";
import { connectionsBack, heldBytes, publishedSuite } from "./support.js";

const versions = [4, 5] as const;
const keptBytesMax = 5e6;

publishedSuite("MQTT brokers", (test, world, scene) => {
  test("CVE-2021-33175 (EMQX): unfinished CONNECTs of unauthenticated clients hold no more than their bound", async () => {
    const before = heldBytes();
    const flood: Client[] = [];
    for (let i = 0; i < 200; i++) {
      const client = await openClient(world.mqtt, 5);
      // Declared: 16,383 bytes, the most that a CONNECT may have; sent: a third of it, in properties.
      client.send(hex("10ff7f 0004 4d515454 05 02 0000 ff7e"), Buffer.alloc(5000, hex("2600000000")));
      flood.push(client);
    }
    assert.ok(heldBytes() - before < 200 * 2 * 16_384 + keptBytesMax);
    for (const { socket } of flood) socket.destroy();
    await connectionsBack(world, 1);
  });

  test("CVE-2021-33176 (VerneMQ): a packet declared larger than the bound is cut off when it is declared", async () => {
    const device = await scene.device();
    for (const version of versions) {
      for (const first of [0x30, 0x32, 0x62, 0x82, 0xa2, 0xe0]) {
        const client = await connected(world, device, version);
        client.send(Buffer.concat([Buffer.of(first), hex("ffffff7f 0001 61")]));
        await client.endedWith(0x95);
      }
    }
  });

  test("CVE-2020-13821 (HiveMQ): scripts in client ids and topics are answered as JSON, never as a page", async () => {
    const script = "<script>alert(document.cookie)</script>";
    const device = await scene.device();
    const client = await connected(world, device, 5, { clientId: script });
    await publish(client, script, { payload: script });
    await client.leave();
    for (const list of ["events", "connect_logs"]) {
      const reply = await world.call("GET", `/api/v1/devices/${device.id}/${list}`);
      assert.is(reply.status, 200);
      assert.match(reply.headers.get("content-type") ?? "", /^application\/json/);
    }
    assert.is((await eventsOf(world, device))[0]?.topic, script);
  });

  test("CVE-2021-46434 (EMQX): a login does not distinguish an unknown name from a wrong password", async () => {
    const attempt = (username: string) =>
      world.call("POST", "/api/v1/login", { username, password: "wrong" }, { key: null });
    const told = ({ status, text }: Reply) => [status, text];
    assert.equal(told(await attempt(world.first.username)), told(await attempt("no-such-user")));
  });

  test("CVE-2023-33656 (NanoMQ): connections that come, say something and go leave nothing in memory", async () => {
    const device = await scene.device();
    const visit = async (i: number) => {
      const client = await connected(world, device, 5, { clientId: `visit ${i}` });
      await subscribed(client, ["x".repeat(900)], { qos: 1 });
      await publish(client, "y".repeat(900), { payload: "z".repeat(10_000), qos: 2 });
      await client.leave();
    };
    await visit(0);
    await world.settled();
    const before = heldBytes();
    for (let i = 1; i < 300; i++) await visit(i);
    await world.settled();
    assert.ok(heldBytes() - before < 2 * keptBytesMax);
    assert.is((await eventsOf(world, device)).length, 300);
  });

  test("CVE-2023-33660 (NanoMQ): no text of a CONNECT may reach beyond the end of its packet", async () => {
    const device = await scene.device();
    const texts = ["id", "will", "message", "user", "pass"];
    for (const version of versions) {
      const properties = version === 5 ? [0] : [];
      for (const long of texts) {
        const fields = texts.map((text) => {
          const field = Buffer.concat([hex("0000"), Buffer.from(text)]);
          field.writeUInt16BE(text === long ? 0xffff : text.length);
          return field;
        });
        const [id = "", ...others] = fields;
        const client = await openClient(world.mqtt, version);
        client.send(bytesOf(0x10, "MQTT", version, 0xc6, 0, 0, ...properties, id, ...properties, ...others));
        await client.ended();
        assert.not.ok(isAccepted(client), long);
      }
    }
    assert.equal(await eventsOf(world, device), []);
  });

  test("CVE-2023-34488 (NanoMQ): a CONNECT cut short at any byte is refused", async () => {
    const device = await scene.device();
    for (const version of versions) {
      const { username = "", password = "" } = connectPacket(device, version);
      const properties = version === 5 ? [hex("05 11 0000000a")] : [];
      const whole = bytesOf(
        0x10,
        "MQTT",
        version,
        0xc2,
        0,
        9,
        ...properties,
        "id",
        username,
        String(password),
      );
      for (let length = 0; length < whole.length - 2; length++) {
        const client = await openClient(world.mqtt, version);
        client.send(Buffer.concat([Buffer.of(0x10, length), whole.subarray(2, 2 + length)]));
        await client.ended();
        assert.not.ok(isAccepted(client), `${length} bytes`);
      }
      const last = await openClient(world.mqtt, version);
      last.send(whole);
      assert.is(codeOf(await last.next("connack")), 0);
      await last.leave();
    }
  });

  test("CVE-2023-34494 (NanoMQ): subscribers that break off while messages go to them break nothing", async () => {
    const device = await scene.device();
    const sender = await connected(world, device, 4, { clientId: "sender" });
    let sent = 0;
    for (let round = 0; round < 20; round++) {
      const hearer = await connected(world, device, 5, { clientId: "hearer" });
      await subscribed(hearer, ["#"], { qos: 2 });
      const some = Array.from({ length: 50 }, () =>
        publishing("t", { messageId: ++sent, payload: "x".repeat(2000) }),
      );
      sender.send(...some);
      await until(() => hearer.packets.some(({ cmd }) => cmd === "publish"), { what: "a message" });
      await hearer.cut();
    }
    const acks = () => sender.packets.filter(({ cmd }) => cmd === "puback").length;
    await until(() => acks() === sent, { what: "each PUBACK" });
    await sender.leave();
  });

  test("CVE-2016-9877 (RabbitMQ): an existing user name without a password lets nobody in", async () => {
    const device = await scene.device();
    const username = String(device.deviceUsername);
    for (const version of versions) {
      const properties = version === 5 ? [0] : [];
      for (const bytes of [
        bytesOf(0x10, "MQTT", version, 0x82, 0, 0, ...properties, "id", username),
        bytesOf(0x10, "MQTT", version, 0xc2, 0, 0, ...properties, "id", username, ""),
      ]) {
        const client = await openClient(world.mqtt, version);
        client.send(bytes);
        assert.ok((codeOf(await client.next("connack")) ?? 0) > 0);
        await client.ended();
      }
    }
  });

  test("CVE-2019-0222 (ActiveMQ): a length of more than four bytes ends the connection", async () => {
    const device = await scene.device();
    for (const length of ["ffffffff7f", "80808080", "ffffffffffffffff"]) {
      const unfinished = await openClient(world.mqtt, 4);
      unfinished.send(hex(`10${length}`));
      await unfinished.ended();
      assert.is(unfinished.bytes().length, 0);
      const client = await connected(world, device, 5);
      client.send(hex(`30${length}`));
      await client.ended();
      const said = client.packets.map((one) => (one.cmd === "disconnect" ? one.reasonCode : one.cmd));
      assert.ok([0x81, 0x95].includes(Number(said.at(-1))), String(said));
    }
  });

  test("CVE-2024-42644 (FlashMQ): messages of each QoS reach subscribers of each QoS, now and retained", async () => {
    const device = await scene.device();
    const sender = await connected(world, device, 5, { clientId: "sender" });
    const hearers: Client[] = [];
    for (const qos of [0, 1, 2] as const) {
      const hearer = await connected(world, device, qos === 0 ? 4 : 5, { clientId: `hearer ${qos}` });
      await subscribed(hearer, [`${qos}/#`, "#"], { qos });
      hearers.push(hearer);
    }
    for (const qos of [0, 1, 2] as const) {
      const fields = { qos, retain: true, messageId: qos + 1, properties: { messageExpiryInterval: 600 } };
      if (qos === 0) sender.send(publishing(`${qos}/a`, { ...fields, messageId: 0 }));
      else await publish(sender, `${qos}/a`, fields);
    }
    for (const [granted, hearer] of hearers.entries()) {
      const got = () => hearer.packets.flatMap((one) => (one.cmd === "publish" ? [one] : []));
      await until(() => got().length >= 3, { what: "three messages" });
      assert.equal(
        got().map(({ qos }) => qos),
        [0, 1, 2].map((qos) => Math.min(qos, granted)),
      );
      await hearer.cut();
    }
    const late = await connected(world, device, 5, { clientId: "late" });
    await subscribed(late, ["+/a"], { qos: 1 });
    const kept = await late.all("publish");
    assert.equal(kept.map(({ qos, retain }) => [qos, retain]).sort(), [
      [0, true],
      [1, true],
      [1, true],
    ]);
    await late.cut();
    sender.send(bytesOf(0x36, "a", 0, 9, 0, Buffer.from("QoS 3")));
    await sender.endedWith(0x81);
  });

  test("CVE-2020-13410 (aedes): what cannot be written to one subscriber costs that message only", async () => {
    const device = await scene.device();
    const small = await connected(world, device, 5, {
      clientId: "small",
      properties: { maximumPacketSize: 30 },
    });
    const other = await connected(world, device, 4, { clientId: "other" });
    for (const one of [small, other]) await subscribed(one, ["#"], { qos: 1 });
    const sender = await connected(world, device, 5, { clientId: "sender" });
    const properties = { userProperties: { k: "v".repeat(200) }, responseTopic: "r", contentType: "c" };
    await publish(sender, "large", { messageId: 1, properties });
    await publish(sender, "small", { messageId: 2 });
    const topics = async (client: Client) => (await client.all("publish")).map(({ topic }) => topic);
    assert.equal(await topics(small), ["small"]);
    assert.equal(await topics(other), ["large", "small"]);
    for (const one of [small, other, sender]) await one.cut();
  });

  test("CVE-2016-10523 (mqtt-packet): every first byte that no packet has ends the connection", async () => {
    const device = await scene.device();
    const known = new Set([0x10, 0x40, 0x50, 0x62, 0x70, 0x82, 0xa2, 0xc0, 0xe0, 0xf0]);
    const wrong = Array.from({ length: 256 }, (_, i) => i).filter((one) => one >> 4 !== 3 && !known.has(one));
    for (const first of wrong) {
      const client = await connected(world, device, first % 2 === 0 ? 4 : 5, { clientId: "wrong" });
      client.send(Buffer.of(first, 2, 0, 1));
      await client.ended();
    }
    await connectionsBack(world, 1);
    assert.equal(await eventsOf(world, device), []);
  });

  test("CVE-2017-10910 (MQTT.js): thousands of packets in one write exhaust no stack", async () => {
    const device = await scene.device();
    const client = await connected(world, device, 4);
    const packet = bytesOf(0x30, "t", Buffer.from("1"));
    client.send(Buffer.alloc(packet.length * 20_000, packet));
    await client.all("pingresp");
    const listed = () => world.call("GET", `/api/v1/devices/${device.id}/events?_limit=1`);
    await until(async () => (await listed()).page.meta.count === 20_000, { what: "each event" });
    await client.leave();
  });
});

function isAccepted({ packets: [first] }: Client): boolean {
  return first?.cmd === "connack" && codeOf(first) === 0;
}
