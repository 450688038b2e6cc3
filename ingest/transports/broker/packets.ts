import { isUtf8 } from "node:buffer";
import mqttPacket, { type Packet } from "mqtt-packet";
import type { MessageProperties } from "../../../store/journal/message.js";
import { payloadBytesMax } from "../../uplinks/accept.js";
import { messageProperties, readMqttProperties } from "../mqtt/codec/properties.js";
import { malformed, protocolError, type Reader, Violation } from "../mqtt/codec/reader.js";

/** Types of the fixed header that a broker's packets have, MQTT 5.0 table 2-1. */
export const brokerPacketTypes = { connack: 2, publish: 3, puback: 4, pingresp: 13 } as const;

/** A message as the broker hands it on; it is acknowledged even if it cannot be taken. */
export interface BrokerDelivery {
  readonly qos: 0 | 1;
  readonly dup: boolean;
  /** 0 at QoS 0. */
  readonly messageID: number;
  /** Null: not UTF-8, or with U+0000. */
  readonly topic: string | null;
  readonly payload: Buffer;
  readonly properties: MessageProperties | null;
  /** Why it cannot be taken: its properties are malformed, or it is larger than a message may be. */
  readonly flaw: "malformed" | "oversize" | null;
}

/**
 * Reads PUBLISH. What concerns the message alone does not end the connection: the broker would send it again on the
 * next one, for ever. @throws Violation if not even its packet id can be read
 */
export function readDelivery(firstByte: number, reader: Reader): BrokerDelivery {
  const qos = (firstByte >> 1) & 3;
  if (qos > 1) throw protocolError("a message comes at a QoS that was not subscribed");
  const topicBytes = reader.binary();
  const messageID = qos === 0 ? 0 : reader.uint16();
  if (qos === 1 && messageID === 0) throw protocolError("the packet id is 0");
  const topic = isUtf8(topicBytes) ? topicBytes.toString("utf8") : null;
  const envelope = {
    qos: qos as 0 | 1,
    dup: (firstByte & 8) !== 0,
    messageID,
    topic: topic === null || topic.includes("\0") ? null : topic,
  };
  try {
    const all = readMqttProperties(reader, "publish");
    const payload = reader.rest();
    const flaw = all.areTooLong === true || payload.length > payloadBytesMax ? "oversize" : null;
    return { ...envelope, payload, properties: messageProperties(all), flaw };
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return { ...envelope, payload: Buffer.alloc(0), properties: null, flaw: "malformed" };
  }
}

/** PUBACK of a message of ours: its packet id and reason code. */
export function readAcknowledgement(reader: Reader): { readonly messageID: number; readonly code: number } {
  const messageID = reader.uint16();
  return { messageID, code: reader.left > 0 ? reader.byte() : 0 };
}

interface ConnectOptions {
  readonly clientID: string;
  readonly username: string | null;
  readonly password: string | null;
  /** Seconds. */
  readonly keepAlive: number;
  /** Seconds that the broker keeps for us what we have not acknowledged. */
  readonly sessionExpiry: number;
  readonly receiveMaximum: number;
  readonly packetBytesMax: number;
}

const version5 = { protocolVersion: 5 } as const;

export function encodeConnect(options: ConnectOptions): Buffer {
  const { username, password } = options;
  return mqttPacket.generate(
    {
      cmd: "connect",
      protocolId: "MQTT",
      protocolVersion: 5,
      clientId: options.clientID,
      clean: false,
      keepalive: options.keepAlive,
      ...(username === null ? {} : { username }),
      ...(password === null ? {} : { password: Buffer.from(password) }),
      properties: {
        sessionExpiryInterval: options.sessionExpiry,
        receiveMaximum: options.receiveMaximum,
        maximumPacketSize: options.packetBytesMax,
      },
    },
    version5,
  );
}

export function subscribePacket(messageID: number, filter: string): Buffer {
  const subscriptions = [{ topic: filter, qos: 1, nl: false, rap: false, rh: 2 } as const];
  return mqttPacket.generate({ cmd: "subscribe", messageId: messageID, subscriptions }, version5);
}

export function unsubscribePacket(messageID: number, filter: string): Buffer {
  return mqttPacket.generate(
    { cmd: "unsubscribe", messageId: messageID, unsubscriptions: [filter] },
    version5,
  );
}

export const pingreq: Buffer = Buffer.from([0xc0, 0]);
export const disconnectPacket: Buffer = Buffer.from([0xe0, 0]);

export interface Accepted {
  readonly cmd: "connack";
  /** 0: we are in. */
  readonly code: number;
  readonly text: string;
  readonly sessionPresent: boolean;
  /** Messages of QoS 1 that the broker takes from us at once. */
  readonly receiveMaximum: number;
  readonly packetBytesMax: number;
  /** Seconds; the broker's value overrides ours [MQTT-3.2.2-21]. */
  readonly keepAlive: number | null;
}

/** The packets that a broker seldom sends. */
export type Rare =
  | Accepted
  | { readonly cmd: "suback"; readonly messageID: number; readonly code: number }
  | { readonly cmd: "unsuback" }
  | { readonly cmd: "disconnect"; readonly code: number; readonly text: string };

/** Reads CONNACK, SUBACK and DISCONNECT with the library: they are rare. @throws Violation */
export function readRare(firstByte: number, body: Buffer): Rare {
  const packet = parse(Buffer.concat([fixedHeader(firstByte, body.length), body]));
  switch (packet.cmd) {
    case "connack": {
      const { properties = {}, reasonCode, returnCode, sessionPresent } = packet;
      const code = reasonCode ?? returnCode ?? 0;
      return {
        cmd: "connack",
        code,
        text: properties.reasonString ?? "",
        sessionPresent,
        receiveMaximum: properties.receiveMaximum ?? 65_535,
        packetBytesMax: properties.maximumPacketSize ?? Number.POSITIVE_INFINITY,
        keepAlive: properties.serverKeepAlive ?? null,
      };
    }
    case "suback": {
      const granted = packet.granted[0];
      const code = typeof granted === "number" ? granted : 0x80;
      return { cmd: "suback", messageID: packet.messageId ?? 0, code };
    }
    case "unsuback":
      return { cmd: "unsuback" };
    case "disconnect":
      return {
        cmd: "disconnect",
        code: packet.reasonCode ?? 0,
        text: packet.properties?.reasonString ?? "",
      };
    default:
      throw protocolError(`${packet.cmd} has no place here`);
  }
}

function parse(bytes: Buffer): Packet {
  const parser = mqttPacket.parser(version5);
  let packet: Packet | null = null;
  let failure: Error | null = null;
  parser.on("packet", (one) => {
    packet = one;
  });
  parser.on("error", (error) => {
    failure = error;
  });
  try {
    parser.parse(bytes);
  } catch (error) {
    failure = error as Error;
  }
  if (packet === null) throw malformed((failure as Error | null)?.message ?? "the packet is not whole");
  return packet;
}

function fixedHeader(firstByte: number, length: number): Buffer {
  const bytes = [firstByte];
  let left = length;
  for (; left > 127; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  bytes.push(left);
  return Buffer.from(bytes);
}
