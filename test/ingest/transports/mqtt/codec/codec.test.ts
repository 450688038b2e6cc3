/** Reading and writing packets, against mqtt-packet. */
import fc from "fast-check";
import mqttPacket, { type Packet } from "mqtt-packet";
import { decodePacket } from "../../../../../ingest/transports/mqtt/codec/decode.js";
import { Framer } from "../../../../../ingest/transports/mqtt/codec/framing.js";
import type {
  ClientPacket,
  ConnectRequest,
  MqttVersion,
  Terms,
} from "../../../../../ingest/transports/mqtt/codec/packets.js";
import {
  createPublishEncoder,
  type OutgoingMessage,
} from "../../../../../ingest/transports/mqtt/codec/publish-packet.js";
import { Reader } from "../../../../../ingest/transports/mqtt/codec/reader.js";
import {
  acceptedConnack,
  agreedKeepAlive,
} from "../../../../../ingest/transports/mqtt/connection/connack.js";
import { assert, suite } from "../../../../suite.js";
import { ack, publishing, subscribing } from "../raw-client.js";

function read(chunks: readonly Buffer[], version: MqttVersion): ClientPacket[] {
  const packets: ClientPacket[] = [];
  const framer = new Framer();
  const owner = {
    frameBytesMax: 1_000_000,
    strictLengths: true,
    isClosed: false,
    begin: () => undefined,
    frame: (firstByte: number, bytes: Buffer, start: number, end: number) =>
      packets.push(decodePacket(firstByte, new Reader(bytes, start, end), version)),
  };
  for (const chunk of chunks) framer.read(chunk, owner as never);
  return packets;
}

const termsOf = (version: MqttVersion): Terms => ({
  version,
  receiveMaximum: 9,
  packetBytesMax: 1_000_000,
  topicAliasMax: 0,
  problemInformation: true,
});

const versions = [4, 5] as const;
const text = fc
  .string({ unit: "binary", minLength: 1, maxLength: 40 })
  .map((one) => one.replaceAll("\0", "0"));
const messages: fc.Arbitrary<OutgoingMessage> = fc.record({
  topic: text,
  payload: fc.uint8Array({ maxLength: 300 }),
  qos: fc.constantFrom(0, 1, 2),
  messageID: fc.integer({ min: 1, max: 65_535 }),
  dup: fc.boolean(),
  retain: fc.boolean(),
  properties: fc.option(
    fc.record(
      {
        payloadFormatIndicator: fc.boolean(),
        messageExpiryInterval: fc.integer({ min: 0, max: 0xffff_ffff }),
        contentType: text,
        correlationData: fc.uint8Array({ maxLength: 20 }),
        userProperties: fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 }),
      },
      { requiredKeys: ["contentType"] },
    ),
  ),
  identifiers: fc.constant([]),
}) as fc.Arbitrary<OutgoingMessage>;

suite("MQTT, codec", (test) => {
  test("packets come out whole, wherever the stream is cut", () => {
    const packets: Packet[] = [
      publishing("a", { payload: Buffer.alloc(5000, "x") }),
      publishing("b", { qos: 0, payload: "" }),
      { cmd: "pingreq" },
      subscribing(["a/#", "b"], {}),
      ack("pubrel", 7),
      publishing("c", { qos: 2, messageId: 9, payload: "last" }),
    ];
    for (const version of versions) {
      const bytes = Buffer.concat(
        packets.map((one) => mqttPacket.generate(one, { protocolVersion: version })),
      );
      const whole = read([bytes], version);
      assert.is(whole.length, packets.length);
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 20 }), (cuts) => {
          const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
          const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
          assert.equal(read(chunks, version), whole);
        }),
        { numRuns: 200 },
      );
      assert.equal(
        read(
          [...bytes].map((byte) => Buffer.of(byte)),
          version,
        ),
        whole,
      );
    }
  });

  test("what we write is what we read, byte for byte where the library writes it too", () => {
    fc.assert(
      fc.property(messages, fc.constantFrom(...versions), (message, version) => {
        const bytes = createPublishEncoder(termsOf(version)).encode(message);
        assert.ok(bytes !== null);
        // QoS 0 has no DUP, and a reader is right to say so.
        if (message.qos === 0 && message.dup) return;
        const [packet] = read([bytes], version);
        if (packet?.cmd !== "publish") throw new Error("no PUBLISH");
        const { topic, qos, retain, dup } = message;
        assert.equal([packet.topic, packet.qos, packet.retain, packet.dup], [topic, qos, retain, dup]);
        assert.ok(packet.payload.equals(message.payload));
        assert.is(packet.messageID, qos === 0 ? 0 : message.messageID);
        const expected = version === 5 ? message.properties : null;
        assert.equal(packet.properties?.userProperties, expected?.userProperties);
        assert.is(packet.properties?.messageExpiryInterval, expected?.messageExpiryInterval);
        assert.is(packet.properties?.contentType, expected?.contentType);
        if (expected !== null) return;
        const payload = Buffer.from(message.payload);
        const { messageID: messageId } = message;
        const library = { cmd: "publish", topic, payload, qos, retain, dup, messageId } as const;
        assert.equal(bytes, mqttPacket.generate(library, { protocolVersion: version }));
      }),
      { numRuns: 1000 },
    );
  });

  test("a keep-alive beyond the service's own is reduced, and MQTT 5 receives the new one", () => {
    const request = (version: MqttVersion, keepAlive: number) =>
      ({ ...termsOf(version), keepAlive, clientID: "c", assigned: false }) as ConnectRequest;
    for (const [version, asked, most, agreed] of [
      [5, 0, null, 0],
      [5, 100, null, 100],
      [5, 0, 60, 60],
      [5, 100, 60, 60],
      [5, 30, 60, 30],
      [4, 100, 60, 100],
    ] as const) {
      const one = request(version, asked);
      assert.is(agreedKeepAlive(one, most), agreed);
      if (version < 5) continue;
      const parser = mqttPacket.parser({ protocolVersion: 5 });
      parser.on("packet", (packet) => {
        const told = packet.cmd === "connack" ? packet.properties?.serverKeepAlive : null;
        assert.is(told, agreed === asked ? undefined : agreed);
      });
      assert.is(
        parser.parse(
          acceptedConnack(one, {
            keepAlive: agreed,
            sessionExpiry: one.sessionExpiry,
            present: false,
            packetBytesMax: 300_000,
          }) ?? Buffer.alloc(0),
        ),
        0,
      );
    }
  });
});
