/** PUBLISH and its acknowledgements, MQTT 3.1.1 and 5.0 §3.3 to §3.7, §4.3 to §4.6 and §4.9. */
import type { IConnackPacket, IPublishPacket, Packet } from "mqtt-packet";
import { payloadBytesMax } from "../../../../ingest/uplinks/accept.js";
import { assert, until } from "../../../suite.js";
import { counter, eventsOf } from "../../support.js";
import {
  ack,
  badTexts,
  bytesOf,
  type Client,
  connected,
  hex,
  publish,
  publishing,
  subscribed,
  subscribing,
  type Version,
} from "./raw-client.js";
import { mqttSuite } from "./versions.js";

mqttSuite(
  "MQTT, PUBLISH",
  ({ each, five, four }, world) => {
    const noProperties = (version: Version): Buffer => (version === 5 ? hex("00") : Buffer.alloc(0));

    each("a packet that is malformed ends the connection", async (device, version) => {
      const more = noProperties(version);
      for (const [what, bytes, reasonCode] of [
        ["QoS 3", bytesOf(0x36, "a", 0, 1, more), 0x81],
        ["DUP at QoS 0", bytesOf(0x38, "a", more), 0x81],
        ["packet id 0", bytesOf(0x32, "a", 0, 0, more), 0x82],
        ["no packet id", bytesOf(0x32, "a"), 0x81],
        ["no topic", hex("3001 00"), 0x81],
        ["a topic longer than the packet", hex("3003 0005 61"), 0x81],
        ["PUBACK with flags", bytesOf(0x41, 0, 1), 0x81],
        ["PUBREC with flags", bytesOf(0x52, 0, 1), 0x81],
        ["PUBREL without its flags", bytesOf(0x60, 0, 1), 0x81],
        ["PUBREL with other flags", bytesOf(0x66, 0, 1), 0x81],
        ["PUBCOMP with flags", bytesOf(0x74, 0, 1), 0x81],
        ["PUBACK with one byte", bytesOf(0x40, 1), 0x81],
        ["PUBACK of packet id 0", bytesOf(0x40, 0, 0), 0x82],
        ["PUBACK that is too long", bytesOf(0x40, 0, 1, 0, 0, 0), 0x81],
        ["PINGREQ with flags", hex("c100"), 0x81],
        ["PINGREQ with a payload", hex("c00100"), 0x81],
        ["a reserved packet type", hex("0000"), 0x81],
        ["CONNACK from a client", hex("20020000"), 0x82],
        ["SUBACK from a client", hex("9003000100"), 0x82],
        ["a remaining length of five bytes", hex("30ffffffff7f"), 0x95],
        ["a remaining length of five small bytes", hex("308080808001"), 0x81],
      ] as const) {
        const client = await connected(world, device, version);
        client.send(bytes);
        await client.endedWith(reasonCode).catch((error: Error) => {
          throw new Error(`${what}: ${error.message}`);
        });
      }
    });

    five("a remaining length is as short as it can be", async (device, version) => {
      const client = await connected(world, device, version);
      client.send(hex("c08000"));
      await client.endedWith(0x81);
    });

    each("a topic must be UTF-8, without wildcards and U+0000, and not empty", async (device, version) => {
      for (const [what, topic, reasonCode] of [
        ...badTexts.map(([bad, text]) => [bad, text, 0x81] as const),
        ["+", "a/+/b", 0x90],
        ["#", "#", 0x90],
        ["empty", "", 0x82],
      ] as const) {
        const client = await connected(world, device, version);
        client.send(bytesOf(0x32, topic, 0, 1, noProperties(version), hex("6d")));
        await client.endedWith(reasonCode).catch((error: Error) => {
          throw new Error(`${what}: ${error.message}`);
        });
      }
      assert.is((await eventsOf(world, device)).length, 0);
    });

    each("a topic keeps U+FEFF, its case, and every level as it is", async (device, version) => {
      const client = await connected(world, device, version);
      await subscribed(client, ["#"]);
      const topics = [
        "\ufeffa",
        "a\ufeff",
        "A/a",
        "a//b/",
        "/",
        "a b",
        "é",
        "e\u0301",
        "\u{10ffff}",
        "x".repeat(65_535),
      ];
      for (const [i, topic] of topics.entries()) await publish(client, topic, { messageId: i + 1 });
      const got = await client.all("publish");
      assert.equal(
        got.map((packet) => packet.topic),
        topics,
      );
      await client.leave();
    });

    each(
      "QoS 0 has no answer, QoS 1 PUBACK and QoS 2 PUBREC and PUBCOMP, with its packet id",
      async (device, version) => {
        const client = await connected(world, device, version);
        client.send(publishing("a", { qos: 0 }));
        client.send(
          publishing("a", { qos: 1, messageId: 0x1234 }),
          publishing("a", { qos: 2, messageId: 0xffff }),
        );
        assert.is((await client.next("puback")).messageId, 0x1234);
        assert.is((await client.next("pubrec")).messageId, 0xffff);
        client.send(ack("pubrel", 0xffff));
        assert.is((await client.next("pubcomp")).messageId, 0xffff);
        await until(async () => (await eventsOf(world, device)).length === 3, { what: "three events" });
        assert.equal(
          client.packets.map(({ cmd }) => cmd),
          ["connack", "puback", "pubrec", "pubcomp"],
        );
        await client.leave();
      },
    );

    each("after PUBACK the packet id is a new message, whatever its DUP flag", async (device, version) => {
      const client = await connected(world, device, version);
      for (const dup of [false, true, false]) await publish(client, "a", { dup });
      assert.is((await eventsOf(world, device)).length, 3);
      await client.leave();
    });

    each(
      "until PUBREL a packet id of QoS 2 is answered and not taken again, after PUBCOMP it is new",
      async (device, version) => {
        const client = await connected(world, device, version);
        const reader = await connected(world, device, version, { clientId: "reader" });
        await subscribed(reader, ["a"], { qos: 0 });
        for (let round = 0; round < 2; round++) {
          for (const dup of [false, true, false]) {
            client.send(publishing("a", { qos: 2, dup, messageId: 7 }));
            assert.is((await client.next("pubrec")).messageId, 7);
          }
          client.send(ack("pubrel", 7));
          await client.next("pubcomp");
        }
        assert.is((await reader.all("publish")).length, 2);
        assert.is((await eventsOf(world, device)).length, 2);
        for (const one of [client, reader]) await one.leave();
      },
    );

    each("PUBREL of an unknown packet id is answered", async (device, version) => {
      const client = await connected(world, device, version);
      client.send(ack("pubrel", 9));
      const { messageId, reasonCode } = await client.next("pubcomp");
      assert.equal([messageId, reasonCode ?? 0], [9, version === 5 ? 0x92 : 0]);
      await client.leave();
    });

    five(
      "PUBREC of an unknown packet id is answered with PUBREL 0x92, unless it is a refusal",
      async (device) => {
        const client = await connected(world, device, 5);
        client.send(ack("pubrec", 9), ack("pubrec", 10, 0x80), ack("puback", 11), ack("pubcomp", 12, 0x92));
        const answers = await client.all("pubrel");
        assert.equal(
          answers.map(({ messageId, reasonCode }) => [messageId, reasonCode]),
          [[9, 0x92]],
        );
        await client.leave();
      },
    );

    each("acknowledgements come in the order of the messages", async (device, version) => {
      const client = await connected(world, device, version);
      const ids = Array.from({ length: 200 }, (_, i) => i + 1);
      client.send(
        ...ids.map((messageId) => publishing("a", { messageId, qos: messageId % 3 === 0 ? 2 : 1 })),
      );
      await until(() => client.packets.length === 201, { what: "every acknowledgement" });
      assert.equal(
        client.packets.slice(1).map((packet) => [packet.cmd, packet.messageId]),
        ids.map((id) => [id % 3 === 0 ? "pubrec" : "puback", id]),
      );
      await client.leave();
    });

    each(
      "messages reach a subscriber in their order, each QoS, DUP 0 whatever the publisher's",
      async (device, version) => {
        const sender = await connected(world, device, version);
        const reader = await connected(world, device, version, { clientId: "reader" });
        await subscribed(reader, ["a"]);
        const sent = Array.from({ length: 30 }, (_, i) => ({
          payload: `${i}`,
          qos: (i % 3) as 0 | 1 | 2,
          messageId: i + 1,
        }));
        for (const one of sent) {
          const dup = one.qos === 1 && version === 5;
          sender.send(publishing("a", { ...one, dup }));
          if (one.qos === 1) await sender.next("puback");
        }
        await until(() => reader.packets.filter(({ cmd }) => cmd === "publish").length === 30, {
          what: "all",
        });
        const got = await reader.all("publish");
        assert.equal(
          got.map(({ payload, qos, dup, topic }) => [`${payload}`, qos, dup, topic]),
          sent.map(({ payload, qos }) => [payload, qos, false, "a"]),
        );
        for (const one of [sender, reader]) await one.leave();
      },
    );

    five(
      "packet ids of ours are not 0 and not in use, also once they begin anew",
      async (device, version) => {
        const client = await connected(world, device, version);
        await subscribed(client, ["a"]);
        await publish(client, "a", { qos: 1 });
        const held = (await client.next("publish")).messageId ?? 0;
        const ids: number[] = [];
        let at = client.packets.length;
        let acknowledged = 0;
        // Answers as fast as it can: every id is given out once, and the held one not again.
        while (ids.length < 65_600) {
          client.send(
            ...Array.from({ length: 90 }, (_, i) => publishing("a", { messageId: i + 2, payload: "" })),
          );
          await until(
            () => {
              for (; at < client.packets.length; at++) {
                const packet = client.packets[at];
                if (packet?.cmd !== "publish") continue;
                ids.push(packet.messageId ?? 0);
                client.send(ack("puback", packet.messageId ?? 0));
              }
              return ids.length - acknowledged >= 90;
            },
            { what: "the next ninety" },
          );
          acknowledged = ids.length;
        }
        assert.not.ok(ids.includes(held) || ids.includes(0));
        assert.is(new Set(ids).size, 65_534);
        await client.leave();
      },
    );

    each(
      "QoS 2 of ours: PUBLISH, PUBREC, PUBREL, PUBCOMP, and the id stays in use between",
      async (device, version) => {
        const client = await connected(world, device, version);
        await subscribed(client, ["a"]);
        await publish(client, "a", { qos: 2 });
        const first = await client.next("publish");
        const id = first.messageId ?? 0;
        assert.equal([first.qos, first.dup], [2, false]);
        for (let times = 0; times < 2; times++) {
          client.send(ack("pubrec", id));
          const pubrel = await client.next("pubrel");
          assert.equal([pubrel.messageId, pubrel.reasonCode ?? 0], [id, 0]);
        }
        await publish(client, "a", { qos: 2, messageId: 2 });
        assert.is.not((await client.next("publish")).messageId, id);
        client.send(ack("pubcomp", id));
        assert.is((await client.all("publish")).length, 2, "nothing is sent again");
        await client.leave();
      },
    );

    five("a refusal of a message ends its delivery", async (device) => {
      const client = await connected(world, device, 5, { properties: { receiveMaximum: 1 } });
      await subscribed(client, ["a"]);
      for (const [i, qos] of ([1, 2, 1] as const).entries())
        await publish(client, "a", { qos, messageId: i + 1 });
      client.send(ack("puback", (await client.next("publish")).messageId ?? 0, 0x83));
      client.send(ack("pubrec", (await client.next("publish")).messageId ?? 0, 0x97));
      await client.next("publish");
      assert.equal([(await client.all("pubrel")).length, (await client.all("publish")).length], [0, 3]);
      await client.leave();
    });

    five("no more messages are in flight than the client takes, and other packets go on", async (device) => {
      const client = await connected(world, device, 5, { properties: { receiveMaximum: 2 } });
      await subscribed(client, ["a"], { qos: 1 });
      for (let messageId = 1; messageId <= 5; messageId++)
        await publish(client, "a", { messageId, payload: `${messageId}` });
      await publishZero(client, "a");
      const waiting = await client.all("publish");
      assert.equal(
        waiting.map(({ qos }) => qos),
        [1, 1, 0],
      );
      await subscribed(client, ["b"], { messageId: 2 });
      const payloads: string[] = [];
      for (let i = 0; i < 6; i++) {
        const { payload, messageId, qos } = await client.next("publish");
        payloads.push(`${payload}`);
        if (qos > 0) client.send(ack("puback", messageId ?? 0));
      }
      assert.equal(
        payloads.filter((one) => one !== "zero"),
        ["1", "2", "3", "4", "5"],
      );
      await client.leave();
    });

    five("more unacknowledged messages than we take end the connection with 0x93", async (device) => {
      const allowed = Array.from({ length: 1000 }, (_, i) =>
        publishing("a", { qos: 2, messageId: i + 1, payload: "" }),
      );
      const client = await connected(world, device, 5, { clientId: "many" });
      client.send(...allowed);
      await until(() => client.packets.filter(({ cmd }) => cmd === "pubrec").length === 1000, {
        what: "1,000 PUBREC",
      });
      client.send(ack("pubrel", 1), publishing("a", { qos: 0 }));
      await client.next("pubcomp");
      client.send(publishing("a", { qos: 2, messageId: 1 }));
      await until(() => client.packets.filter(({ cmd }) => cmd === "pubrec").length === 1001, {
        what: "a free place again",
      });
      client.send(publishing("a", { qos: 1, messageId: 1001 }));
      await client.endedWith(0x93);
    });

    five("QoS 2 without PUBREL beyond our Receive Maximum ends the connection with 0x93", async (device) => {
      const sent = Array.from({ length: 1001 }, (_, i) =>
        publishing("a", { qos: 2, messageId: i + 1, payload: "" }),
      );
      const client = await connected(world, device, 5, { clientId: "unreleased" });
      client.send(...sent);
      await client.endedWith(0x93);
    });

    five("a message that has expired is not sent, and what it has waited is taken off", async (device) => {
      const client = await connected(world, device, 5, { properties: { receiveMaximum: 1 } });
      await subscribed(client, ["a"], { qos: 1 });
      for (const [i, seconds] of [100, 1, 100, 0].entries()) {
        await publish(client, "a", { messageId: i + 1, properties: { messageExpiryInterval: seconds } });
      }
      const first = await client.next("publish");
      assert.is(first.properties?.messageExpiryInterval, 100);
      world.clock.pass(1200);
      client.send(ack("puback", first.messageId ?? 0));
      const { messageId = 0, properties } = await client.next("publish");
      assert.ok(Number(properties?.messageExpiryInterval) < 100, `${properties?.messageExpiryInterval}`);
      client.send(ack("puback", messageId));
      assert.is((await client.all("publish")).length, 2);
      await client.leave();
    });

    five("what has been sent does not expire", async (device) => {
      const client = await connected(world, device, 5);
      await subscribed(client, ["a"]);
      await publish(client, "a", { qos: 2, properties: { messageExpiryInterval: 1 } });
      const id = (await client.next("publish")).messageId ?? 0;
      world.clock.pass(1500);
      client.send(ack("pubrec", id));
      assert.equal([(await client.next("pubrel")).messageId, (await client.all("publish")).length], [id, 1]);
      await client.leave();
    });

    five("what expires at once is still acknowledged in full", async (device) => {
      const client = await connected(world, device, 5);
      await subscribed(client, ["a"]);
      await publish(client, "a", { qos: 2, properties: { messageExpiryInterval: 0 } });
      assert.is((await client.all("publish")).length, 0);
      assert.is((await eventsOf(world, device)).length, 1);
      await client.leave();
    });

    each("PUBRELs come in the order of PUBRECs", async (device, version) => {
      const client = await connected(world, device, version);
      await subscribed(client, ["a"]);
      for (let messageId = 1; messageId <= 5; messageId++) await publish(client, "a", { messageId, qos: 2 });
      const ids = (await client.all("publish")).map(({ messageId = 0 }) => messageId);
      const shuffled = [3, 0, 4, 1, 2].map((i) => ids[i] ?? 0);
      client.send(...shuffled.map((id) => ack("pubrec", id)));
      assert.equal(
        (await client.all("pubrel")).map(({ messageId }) => messageId),
        shuffled,
      );
      await client.leave();
    });

    five("what the publisher adds reaches the subscriber unaltered and in its order", async (device) => {
      const sender = await connected(world, device, 5);
      const reader = await connected(world, device, 5, { clientId: "reader" });
      await subscribed(reader, ["a"]);
      // Content type, response topic, correlation data, payload format, then pairs: b, a, b, "", __proto__, 1.
      const pairs = ["b", "2", "a", "", "b", "1", "", "x", "__proto__", "p", "1", "one", "a", "\ufeffz"];
      const pairBytes = pairs.flatMap((text, i) => (i % 2 === 0 ? [0x26, text] : [text]));
      const parts = [
        0x01,
        0x01,
        0x03,
        "text/plain",
        0x08,
        "answers/here",
        0x09,
        "\x01\xff\x00",
        ...pairBytes,
      ];
      const properties = bytesOf(0, ...parts).subarray(1);
      sender.send(bytesOf(0x30, "a", properties, hex("6d")));
      const got = await reader.next("publish");
      const { userProperties, correlationData, ...plain } = got.properties ?? {};
      assert.equal(plain, {
        payloadFormatIndicator: true,
        contentType: "text/plain",
        responseTopic: "answers/here",
      });
      assert.equal(Buffer.from(correlationData ?? []), Buffer.from("\x01\xff\x00"));
      assert.ok(userProperties !== undefined);
      const wire = bytesOf(0, ...pairBytes).subarray(2);
      assert.ok(reader.bytes().includes(wire), "the pairs in their order");
      for (const one of [sender, reader]) await one.leave();
    });

    five("properties that PUBLISH may not have end the connection", async (device) => {
      for (const [what, properties, reasonCode] of [
        ["a subscription identifier", "02 0b 01", 0x82],
        ["a response topic with a wildcard", "06 08 0003 612f2b", 0x82],
        ["a payload format of 2", "02 01 02", 0x82],
        ["two content types", "08 03 0001 61 03 0001 61", 0x82],
        ["topic alias 0", "03 23 0000", 0x94],
        ["a topic alias beyond ours", "03 23 0011", 0x94],
        ["a property of CONNECT", "05 11 00000001", 0x81],
        ["an unknown property", "02 70 00", 0x81],
        ["a response topic that is not UTF-8", "05 08 0002 c0af", 0x81],
        ["a content type that is not UTF-8", "05 03 0002 c0af", 0x81],
        ["a pair whose name is not UTF-8", "08 26 0002 c0af 0001 61", 0x81],
        ["a pair whose value holds U+0000", "07 26 0001 61 0001 00", 0x81],
        ["a pair without a value", "04 26 0001 61", 0x81],
        ["a length beyond the packet", "7f 01 01", 0x81],
      ] as const) {
        const client = await connected(world, device, 5);
        client.send(bytesOf(0x30, "a", hex(properties)));
        await client.endedWith(reasonCode).catch((error: Error) => {
          throw new Error(`${what}: ${error.message}`);
        });
      }
    });

    five("topic aliases of the client stand for topics, on their connection only", async (device) => {
      const reader = await connected(world, device, 5, { clientId: "reader" });
      await subscribed(reader, ["#"], { qos: 0 });
      const client = await connected(world, device, 5);
      const aliased = (topic: string, topicAlias: number): IPublishPacket =>
        publishing(topic, { qos: 0, properties: { topicAlias } });
      client.send(aliased("one", 1), aliased("", 1), aliased("sixteen", 16), aliased("", 16), aliased("", 1));
      client.send(aliased("other", 1), aliased("", 1), aliased("", 16));
      await client.all("pingresp");
      await until(() => reader.packets.filter(({ cmd }) => cmd === "publish").length === 8, {
        what: "eight",
      });
      const got = await reader.all("publish");
      assert.equal(
        got.map(({ topic, properties }) => `${topic} ${properties?.topicAlias ?? ""}`.trim()),
        ["one", "one", "sixteen", "sixteen", "one", "other", "other", "sixteen"],
      );
      client.send(aliased("", 2));
      await client.endedWith(0x82);
      const again = await connected(world, device, 5);
      again.send(aliased("", 1));
      await again.endedWith(0x82);
      await reader.leave();
    });

    five("topic aliases of ours stay within what the client allows", async (device) => {
      const sender = await connected(world, device, 5);
      const readers: Client[] = [];
      for (const topicAliasMaximum of [0, 2]) {
        const clientId = `reader ${topicAliasMaximum}`;
        const reader = await connected(world, device, 5, { clientId, properties: { topicAliasMaximum } });
        await subscribed(reader, ["#"], { qos: 0 });
        readers.push(reader);
      }
      for (const topic of ["first", "second", "third", "first", "third", "second"])
        await publish(sender, topic);
      const [none, two] = await Promise.all(readers.map((reader) => reader.all("publish")));
      assert.equal(
        (none ?? []).map(({ topic, properties }) => [topic, properties]),
        [...["first", "second", "third", "first", "third", "second"].map((topic) => [topic, undefined])],
      );
      assert.equal(
        (two ?? []).map(({ topic, properties }) => [topic, properties?.topicAlias ?? 0]),
        [
          ["first", 1],
          ["second", 2],
          ["third", 0],
          ["", 1],
          ["third", 0],
          ["", 2],
        ],
      );
      for (const one of [sender, ...readers]) await one.leave();
    });

    each("a packet that is too large ends the connection, unacknowledged", async (device, version) => {
      const client = await connected(world, device, version);
      await publish(client, "a", { payload: Buffer.alloc(payloadBytesMax) });
      client.send(hex("32ffffff7f"));
      await client.endedWith(0x95);
      assert.is((await eventsOf(world, device)).length, 1);
    });

    four("a payload that is too large ends the connection, unacknowledged", async (device) => {
      for (const qos of [0, 1, 2] as const) {
        const client = await connected(world, device, 4);
        client.send(publishing("a", { qos, payload: Buffer.alloc(payloadBytesMax + 1) }));
        await client.ended();
        assert.equal(
          client.packets.map(({ cmd }) => cmd),
          ["connack"],
        );
      }
      assert.is((await eventsOf(world, device)).length, 0);
    });

    const refusedOversize = counter(world, "tidemark_messages_refused_total", "oversize");

    five("a message too large is refused with 0x97, and nothing is kept of it", async (device) => {
      const userProperties = { many: Array.from({ length: 3000 }, () => "12345678") };
      const before = await refusedOversize();
      const client = await connected(world, device, 5, { properties: { requestProblemInformation: true } });
      const payload = Buffer.alloc(payloadBytesMax + 1);
      const atMost = connackOf(client).properties?.maximumPacketSize ?? 0;
      assert.ok(payload.length < atMost, `${atMost} bytes`);
      client.send(publishing("a", { qos: 1, messageId: 1, payload }));
      const puback = await client.next("puback");
      assert.equal([puback.messageId, puback.reasonCode], [1, 0x97]);
      assert.match(puback.properties?.reasonString ?? "", "262144 bytes");
      client.send(publishing("a", { qos: 2, messageId: 2, payload }));
      const pubrec = await client.next("pubrec");
      assert.equal([pubrec.messageId, pubrec.reasonCode], [2, 0x97]);
      client.send(publishing("a", { qos: 0, payload, retain: true }));
      client.send(publishing("a", { qos: 1, messageId: 3, dup: true, payload }));
      assert.is((await client.next("puback")).reasonCode, 0x97);
      client.send(publishing("a", { qos: 1, messageId: 4, properties: { topicAlias: 1, userProperties } }));
      const properties = await client.next("puback");
      assert.equal([properties.messageId, properties.reasonCode], [4, 0x97]);
      assert.match(properties.properties?.reasonString ?? "", "properties may have 16384 bytes");
      // Their ids are free at once, its alias is known, and the connection goes on.
      await publish(client, "", { qos: 2, messageId: 2, payload: "small", properties: { topicAlias: 1 } });
      const events = await eventsOf(world, device);
      assert.equal(
        events.map(({ topic, payload }) => [topic, payload]),
        [["a", "small"]],
      );
      assert.is((await refusedOversize()) - before, 5);
      await subscribed(client, ["a"]);
      assert.equal(await client.all("publish"), [], "nothing is retained");
      await client.leave();
    });

    five("a refusal for size stays after what came before it", async (device) => {
      const client = await connected(world, device, 5);
      const payload = Buffer.alloc(payloadBytesMax + 1);
      client.send(publishing("a", { messageId: 1 }), publishing("a", { messageId: 2, payload }));
      client.send(publishing("a", { messageId: 3 }));
      for (const [messageId, reasonCode] of [
        [1, 0],
        [2, 0x97],
        [3, 0],
      ]) {
        const puback = await client.next("puback");
        assert.equal([puback.messageId, puback.reasonCode], [messageId, reasonCode]);
      }
      await client.leave();
    });

    five("properties of other packets that nobody reads do not end the connection", async (device) => {
      const userProperties = { many: Array.from({ length: 3000 }, () => "12345678") };
      const client = await connected(world, device, 5);
      client.send({ ...subscribing(["a"]), properties: { userProperties } } as Packet);
      assert.equal((await client.next("suback")).granted, [2]);
      client.send({
        cmd: "unsubscribe",
        messageId: 2,
        unsubscriptions: ["a"],
        properties: { userProperties },
      });
      assert.equal((await client.next("unsuback")).granted, [0]);
      await client.leave();
    });
  },
  { TOPIC_BYTES_MAX: "65535", TOPIC_LEVELS_MAX: "1024" },
);

function connackOf(client: Client): IConnackPacket {
  const found = client.packets.find((packet) => packet.cmd === "connack");
  assert.ok(found, "CONNACK");
  return found as IConnackPacket;
}

async function publishZero(client: Client, topic: string): Promise<void> {
  client.send(publishing(topic, { qos: 0, payload: "zero" }));
  await until(() => client.packets.some((packet) => packet.cmd === "publish" && packet.qos === 0), {
    what: "QoS 0",
  });
}
