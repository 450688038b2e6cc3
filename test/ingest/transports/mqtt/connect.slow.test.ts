/** CONNECT and CONNACK, MQTT 3.1.1 and 5.0 §3.1 and §3.2. */
import mqttPacket, { type Packet } from "mqtt-packet";
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import type { Rec } from "../../../world.js";
import { eventsOf } from "../../support.js";
import {
  ack,
  badTexts,
  bytesOf,
  type Client,
  type ConnectFields,
  codeOf,
  connected,
  connectPacket,
  hex,
  openClient,
  publish,
  publishing,
  subscribed,
  type Version,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

mqttSuite("MQTT, CONNECT", ({ each, five, four }, world, test) => {
  /** What a CONNECT of these bytes or fields is answered: the code, or null where it is cut off without a word. */
  async function answerTo(
    device: Rec,
    version: Version,
    what: ConnectFields | Buffer,
  ): Promise<number | null> {
    const client = await openClient(world.mqtt, version);
    client.send(what instanceof Buffer ? what : connectPacket(device, version, what));
    await client.ended();
    const [connack] = client.packets;
    if (connack === undefined) return null;
    assert.is(client.packets.length, 1);
    if (connack.cmd !== "connack") throw new Error(`got ${connack.cmd}`);
    assert.is(connack.sessionPresent, false);
    return codeOf(connack) ?? -1;
  }

  /** CONNECT whose flags and fields are given byte by byte. */
  function connectBytes(
    version: Version,
    flags: number,
    ...fields: readonly (string | Uint8Array)[]
  ): Buffer {
    const properties = version === 5 ? [0] : [];
    const name = version === 3 ? "MQIsdp" : "MQTT";
    return bytesOf(0x10, name, version, flags, 0, 0, ...properties, ...fields);
  }

  /** In 5 CONNACK names it; before, the connection is closed without CONNACK. */
  const malformed = (version: Version, code = 0x81): number | null => (version === 5 ? code : null);

  each("the first packet must be CONNECT", async (_, version) => {
    for (const first of [publishing("a"), hex("c000"), hex("e000"), hex("0000"), hex("f000")]) {
      const client = await openClient(world.mqtt, version);
      client.send(first);
      await client.ended();
      assert.is(client.bytes().length, 0);
    }
  });

  each("a second CONNECT ends the connection", async (device, version) => {
    const client = await connected(world, device, version);
    client.send(connectPacket(device, version));
    await client.endedWith(0x82);
    assert.is(client.packets.filter(({ cmd }) => cmd === "connack").length, 1);
  });

  each("another protocol name is cut off without an answer", async (device, version) => {
    for (const name of ["MQTY", "mqtt", "", "__proto__", "MQTTMQTTMQTT"]) {
      const bytes = bytesOf(0x10, name, version, 2, 0, 0, 0, "raw");
      assert.is(await answerTo(device, version, bytes), null, name);
    }
    assert.is(await answerTo(device, version, Buffer.from("GET / HTTP/1.1\r\n\r\n")), null);
  });

  test("another protocol level is refused in words that its client knows", async () => {
    for (const [name, level, answer] of [
      ["MQTT", 3, "20020001"],
      ["MQTT", 0, "20020001"],
      ["MQIsdp", 4, "20020001"],
      ["MQTT", 0x84, "20020001"],
      ["MQTT", 6, "20260084"],
      ["MQTT", 0x85, "20260084"],
    ] as const) {
      const client = await openClient(world.mqtt, 4);
      client.send(bytesOf(0x10, name, level, 2, 0, 0, 0, "raw"));
      await client.ended();
      assert.ok(
        client.bytes().toString("hex").startsWith(answer),
        `${name} ${level}: ${client.bytes().toString("hex")}`,
      );
    }
  });

  each("the reserved connect flag is malformed", async (device, version) => {
    const bytes = connectBytes(version, 0x03, "raw");
    assert.is(await answerTo(device, version, bytes), malformed(version));
  });

  each("reserved flags of CONNECT's fixed header are malformed", async (device, version) => {
    const bytes = mqttPacket.generate(connectPacket(device, version));
    bytes[0] = 0x11;
    assert.is(await answerTo(device, version, bytes), malformed(version));
  });

  each("flags for a will that is not there, and a will of QoS 3, are malformed", async (device, version) => {
    for (const flags of [0x02 | 0x08, 0x02 | 0x10, 0x02 | 0x20]) {
      assert.is(await answerTo(device, version, connectBytes(version, flags, "raw")), malformed(version));
    }
    const will = version === 5 ? [hex("00"), "w", "m"] : ["w", "m"];
    assert.is(
      await answerTo(device, version, connectBytes(version, 0x1e, "raw", ...will)),
      malformed(version),
    );
  });

  each(
    "the fields that the flags announce must be there, in their order, and no others",
    async (device, version) => {
      const user = String(device.deviceUsername);
      const will = version === 5 ? [hex("00"), "w", "m"] : ["w", "m"];
      for (const [flags, fields] of [
        [0x02, ["raw", user]],
        [0x82, ["raw"]],
        [0x82, ["raw", user, "token"]],
        [0xc2, ["raw", user]],
        [0x06, ["raw"]],
        [0x06, ["raw", ...will, "more"]],
        [0x06, ["raw", ...will.slice(0, -1)]],
        [0x02, []],
      ] as const) {
        const bytes = connectBytes(version, flags, ...fields);
        assert.is(await answerTo(device, version, bytes), malformed(version), `${flags} ${fields.length}`);
      }
      const client = await openClient(world.mqtt, version);
      client.send(connectBytes(version, 0xc6, "raw", ...will, user, String(device.token)));
      assert.is(codeOf(await client.next("connack")), 0);
      await client.leave();
    },
  );

  test("a password needs a user name before MQTT 5", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    assert.is(await answerTo(device, 4, connectBytes(4, 0x42, "raw", "token")), null);
    assert.is(await answerTo(device, 5, connectBytes(5, 0x42, "raw", "token")), 0x86);
  });

  each("client ids of letters and digits are taken, and longer ones", async (device, version) => {
    for (const clientId of ["0", "abcdefghijklmnopqrstuvw", "XYZ0123456789", "x".repeat(256), "zähler 1/ü"]) {
      await (await connected(world, device, version, { clientId })).leave();
    }
  });

  each("an empty client id is replaced by one that MQTT 5 receives", async (device, version) => {
    const both: Client[] = [];
    const given = new Set<unknown>();
    for (let i = 0; i < 2; i++) {
      const client = await openClient(world.mqtt, version);
      client.send(connectPacket(device, version, { clientId: "" }));
      const connack = await client.next("connack");
      assert.is(codeOf(connack), 0);
      given.add(connack.properties?.assignedClientIdentifier);
      both.push(client);
    }
    for (const client of both) await client.all("pingresp");
    assert.equal(
      [...given].map((id) => typeof id),
      version === 5 ? ["string", "string"] : ["undefined"],
    );
    if (version === 5) {
      const [id] = given;
      const again = await connected(world, device, version, { clientId: String(id) });
      await both[0]?.endedWith(0x8e);
      await again.leave();
    }
    await both[1]?.leave();
    if (version === 4) await both[0]?.leave();
  });

  four("an empty client id cannot keep a session", async (device) => {
    const bytes = mqttPacket.generate(connectPacket(device, 4, { clientId: "" }));
    bytes[9] = (bytes[9] as number) & ~0x02;
    assert.is(await answerTo(device, 4, bytes), 2);
  });

  five("an empty client id can keep a session, since CONNACK names it", async (device) => {
    const bytes = mqttPacket.generate(connectPacket(device, 5, { clientId: "" }));
    bytes[9] = (bytes[9] as number) & ~0x02;
    const client = await openClient(world.mqtt, 5);
    client.send(bytes);
    const connack = await client.next("connack");
    assert.is(codeOf(connack), 0);
    assert.type(connack.properties?.assignedClientIdentifier, "string");
    await client.leave();
  });

  each("a client id that is too long is refused", async (device, version) => {
    const clientId = "x".repeat(257);
    assert.is(await answerTo(device, version, { clientId }), version === 5 ? 0x85 : 2);
  });

  each("the texts of CONNECT must be UTF-8 without U+0000", async (device, version) => {
    const will = version === 5 ? [hex("00")] : [];
    for (const [what, text] of badTexts) {
      for (const bytes of [
        connectBytes(version, 0x02, text),
        connectBytes(version, 0x06, "raw", ...will, text, "m"),
        connectBytes(version, 0xc2, "raw", text, "token"),
        bytesOf(0x10, text, version, 2, 0, 0, 0, "raw"),
      ]) {
        const answer = await answerTo(device, version, bytes);
        // In a protocol name it is not even MQTT.
        const expected = bytes.includes("MQTT") ? malformed(version) : null;
        assert.is(answer, expected, `${what}: ${bytes.toString("hex")}`);
      }
    }
  });

  each("a will's topic must be a topic name", async (device, version) => {
    for (const topic of ["a/+", "#"]) {
      const fields = { will: { topic, payload: Buffer.from("m") } };
      assert.is(await answerTo(device, version, fields), malformed(version, 0x90), topic);
    }
  });

  each("the same client id of a device takes over, another one lives beside it", async (device, version) => {
    const first = await connected(world, device, version);
    const other = await connected(world, device, version, { clientId: "other" });
    const second = await connected(world, device, version);
    await first.endedWith(0x8e);
    for (const client of [second, other]) await client.all("pingresp");
    for (const client of [second, other]) await client.leave();
  });

  each("nothing after a refused CONNECT is processed", async (device, version) => {
    const client = await openClient(world.mqtt, version);
    const password = Buffer.from("wrong");
    client.send(connectPacket(device, version, { password }), publishing("a"), { cmd: "pingreq" });
    await client.ended();
    assert.equal(client.packets.map(codeOfAny), [version === 5 ? 0x86 : 4]);
    const { page } = await world.call("GET", `/api/v1/devices/${device.id}/events`);
    assert.is(page.meta.count, 0);
  });

  each("CONNACK comes first and once, then what came with CONNECT is processed", async (device, version) => {
    const client = await openClient(world.mqtt, version);
    client.send(connectPacket(device, version), publishing("a"), { cmd: "pingreq" });
    await client.next("puback");
    await client.next("pingresp");
    const kinds = client.packets.map(({ cmd }) => cmd);
    assert.equal([kinds[0], kinds.filter((cmd) => cmd === "connack").length], ["connack", 1]);
    assert.is((client.bytes()[2] as number) & 0xfe, 0);
    await client.leave();
  });

  each("what comes with CONNECT may be as large as what comes later", async (device, version) => {
    const client = await openClient(world.mqtt, version);
    const payload = Buffer.alloc(200 * 1024, "x");
    client.send(
      connectPacket(device, version),
      publishing("a", { payload }),
      publishing("b", { qos: 2, messageId: 2, payload: Buffer.alloc(20_000, "y") }),
      { cmd: "pingreq" },
    );
    await client.next("puback");
    await client.next("pubrec");
    await client.next("pingresp");
    assert.is(client.packets[0]?.cmd, "connack");
    const events = await eventsOf(world, device);
    assert.equal(
      events.map(({ topic, payload }) => [topic, String(payload).length]),
      [
        ["b", 20_000],
        ["a", payload.length],
      ],
    );
    await client.leave();
  });

  each("what is wrong after CONNECT is said after CONNACK", async (device, version) => {
    for (const [what, bytes, reasonCode] of [
      ["a second CONNECT", hex("1000"), 0x82],
      ["a reserved packet type", hex("0000"), 0x81],
      ["a packet that is too large", hex("30ffffff7f"), 0x95],
    ] as const) {
      const client = await openClient(world.mqtt, version);
      client.send(connectPacket(device, version), bytes);
      await client.endedWith(reasonCode).catch((error: Error) => {
        throw new Error(`${what}: ${error.message}`);
      });
      assert.is(client.packets[0]?.cmd, "connack", what);
      assert.is(codeOfAny(client.packets[0] as Packet), 0, what);
    }
  });

  each("DISCONNECT in one write with CONNECT and a message is heard", async (device, version) => {
    const client = await openClient(world.mqtt, version);
    const will = { topic: "will", payload: Buffer.from("gone"), qos: 0 as const, retain: false };
    client.send(connectPacket(device, version, { will }), publishing("a"), { cmd: "disconnect" });
    client.socket.end();
    await client.ended();
    await until(async () => (await eventsOf(world, device)).length === 1, { what: "the message" });
    assert.equal(
      (await eventsOf(world, device)).map(({ topic }) => topic),
      ["a"],
    );
  });

  each("a refusal has Session Present 0 and a code of its version, and closes", async (device, version) => {
    const unknown = { username: "nobody" };
    const wrong = { password: Buffer.from("wrong") };
    const nothing = Buffer.from(
      mqttPacket.generate({
        ...connectPacket(device, version),
        username: undefined,
        password: undefined,
      } as never),
    );
    for (const fields of [unknown, wrong, nothing]) {
      assert.is(await answerTo(device, version, fields), version === 5 ? 0x86 : 4);
    }
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    assert.is(await answerTo(device, version, {}), version === 5 ? 0x87 : 5);
  });

  each("a session that begins anew has Session Present 0", async (device, version) => {
    const client = await openClient(world.mqtt, version);
    client.send(connectPacket(device, version));
    assert.is((await client.next("connack")).sessionPresent, false);
    await client.leave();
  });

  each("silence ends a connection after one and a half keep-alives", async (device, version) => {
    const silent = await connected(world, device, version, { clientId: "silent", keepalive: 1 });
    const alive = await connected(world, device, version, { clientId: "alive", keepalive: 1 });
    const unbounded = await connected(world, device, version, { clientId: "unbounded" });
    const pinging = setInterval(() => alive.send({ cmd: "pingreq" }), 500);
    try {
      await silent.ended(4000);
      await silent.endedWith(0x8d);
      assert.not.ok(alive.closed || unbounded.closed);
    } finally {
      clearInterval(pinging);
    }
    for (const client of [alive, unbounded]) await client.leave();
  });

  five("CONNACK says what we take and what is not offered", async (device) => {
    const client = await openClient(world.mqtt, 5);
    client.send(connectPacket(device, 5, { properties: { requestResponseInformation: true } }));
    const { properties = {} } = await client.next("connack");
    const { maximumPacketSize = 0, ...rest } = properties;
    assert.ok(maximumPacketSize > 256 * 1024);
    assert.equal(rest, { receiveMaximum: 1000, topicAliasMaximum: 16, sharedSubscriptionAvailable: false });
    await client.leave();
  });

  five("values that a property may not have are protocol errors", async (device) => {
    for (const [what, properties] of [
      ["Receive Maximum 0", "03 21 0000"],
      ["Maximum Packet Size 0", "05 27 00000000"],
      ["Request Problem Information 2", "02 17 02"],
      ["Request Response Information 2", "02 19 02"],
      ["one property twice", "0a 11 00000001 11 00000001"],
      ["authentication data without a method", "04 16 0001 61"],
    ] as const) {
      const bytes = bytesOf(0x10, "MQTT", 5, 2, 0, 0, hex(properties), "raw");
      assert.is(await answerTo(device, 5, bytes), 0x82, what);
    }
  });

  five("properties that have no place in CONNECT, or are cut off, are malformed", async (device) => {
    for (const [what, properties] of [
      ["of PUBLISH", "03 23 0001"],
      ["of the server", "03 13 0001"],
      ["unknown", "02 7f 00"],
      ["an identifier of two bytes", "03 9100 00"],
      ["longer than their length", "03 11 0000 0001"],
      ["longer than the packet", "7f 11 00000001"],
      ["a length of five bytes", "ffffffff7f"],
      ["a length longer than it need be", "8000"],
    ] as const) {
      const bytes = bytesOf(0x10, "MQTT", 5, 2, 0, 0, hex(properties), "raw");
      assert.is(await answerTo(device, 5, bytes), 0x81, what);
    }
  });

  five("an authentication method is refused with 0x8C, and no AUTH is sent", async (device) => {
    const properties = { authenticationMethod: "SCRAM-SHA-1", authenticationData: Buffer.from("x") };
    assert.is(await answerTo(device, 5, { properties }), 0x8c);
  });

  five("AUTH is a protocol error", async (device) => {
    for (const bytes of ["f000", "f0021800", "f005180315 00 00"]) {
      const client = await connected(world, device, 5);
      client.send(hex(bytes));
      await client.endedWith(0x82);
    }
  });

  four("AUTH is no packet of 3.1.1", async (device) => {
    const client = await connected(world, device, 4);
    client.send(hex("f000"));
    await client.ended();
  });

  five("reasons in words go to whom asks for them", async (device) => {
    const heard = async (requestProblemInformation: boolean): Promise<boolean[]> => {
      const client = await connected(world, device, 5, { properties: { requestProblemInformation } });
      client.send(ack("pubrel", 9));
      const pubcomp = await client.next("pubcomp");
      client.send({ cmd: "subscribe", messageId: 1, subscriptions: [{ topic: "$share/g/a", qos: 0 }] });
      const suback = await client.next("suback");
      assert.equal([pubcomp.reasonCode, suback.granted], [0x92, [0x9e]]);
      client.send(hex("f000"));
      const disconnect = await client.next("disconnect");
      return [pubcomp, suback, disconnect].map((packet) => packet.properties?.reasonString !== undefined);
    };
    assert.equal(await heard(true), [true, true, true]);
    assert.equal((await heard(false)).slice(0, 2), [false, false]);
  });

  five("a packet is never larger than the client allows", async (device) => {
    const cut = await openClient(world.mqtt, 5);
    cut.send(connectPacket(device, 5, { properties: { maximumPacketSize: 4 } }));
    await cut.ended();
    assert.is(cut.bytes().length, 0, "not even CONNACK");
    const wrong = { password: Buffer.from("wrong"), properties: { maximumPacketSize: 10 } };
    assert.is(await answerTo(device, 5, wrong), 0x86, "CONNACK without its words");

    const properties = { maximumPacketSize: 24 };
    const client = await connected(world, device, 5, { clientId: "small", properties });
    client.send(ack("pubrel", 9), hex("820a 0001 00 0004 23232323 00"));
    assert.equal((await client.next("pubcomp")).reasonCode, 0x92);
    assert.equal((await client.next("suback")).granted, [0x8f]);
    await subscribed(client, ["d"], { messageId: 2 });
    const sender = await connected(world, device, 5);
    for (const [messageId, bytes] of [
      [1, 13],
      [2, 100],
      [3, 14],
      [4, 12],
    ] as const) {
      await publish(sender, "d", { messageId, payload: Buffer.alloc(bytes, "x") });
    }
    await publish(sender, "d", { messageId: 5, payload: "", properties: { contentType: "x".repeat(30) } });
    const got = await client.all("publish");
    assert.equal(
      got.map(({ payload }) => payload.length),
      [13, 14, 12],
      "of the others only these fit",
    );
    client.send(hex("f000"));
    await client.endedWith(0x82);
    for (const packet of client.packets) assert.ok((packet.length ?? 0) + 2 <= 24);
    await sender.leave();
  });
});

mqttSuite(
  "MQTT, keep-alive of the service",
  ({ each }, world) => {
    each(
      "a longer one, or none, is reduced where the client can receive the new one",
      async (device, version) => {
        for (const [keepalive, told] of [
          [0, 1],
          [600, 1],
          [1, undefined],
        ] as const) {
          const client = await openClient(world.mqtt, version);
          client.send(connectPacket(device, version, { keepalive }));
          const { properties } = await client.next("connack");
          assert.is(properties?.serverKeepAlive, version === 5 ? told : undefined);
          if (version === 5) await client.endedWith(0x8d);
          else await client.cut();
        }
      },
    );
  },
  { KEEP_ALIVE_MAX: "1" },
);

const codeOfAny = (packet: { cmd: string; reasonCode?: number; returnCode?: number }): number | undefined =>
  packet.reasonCode ?? packet.returnCode;
