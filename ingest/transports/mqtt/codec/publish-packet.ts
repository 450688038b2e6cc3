import mqttPacket, { type IPublishPacket } from "mqtt-packet";
import type { MessageProperties } from "../../../../store/journal/message.js";
import type { Terms } from "./packets.js";

/** A message as it goes to one client. */
export interface OutgoingMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  /** 0 at QoS 0. */
  readonly messageID: number;
  readonly dup: boolean;
  readonly retain: boolean;
  /**
   * As the publisher gave them, except that `messageExpiryInterval` is less by the seconds that the message has waited.
   */
  readonly properties: MessageProperties | null;
  /** Identifiers of the subscriptions that bring it. */
  readonly identifiers: readonly number[];
}

/** Writes PUBLISH for one connection. Whatever is encoded must be sent, in that order: topic aliases build on it. */
export interface PublishEncoder {
  /** Messages of QoS 1 and 2 that the client takes at once. */
  readonly receiveMaximum: number;
  /** Null if the packet would be larger than the client allows [MQTT-3.1.2-24]: the message is dropped. */
  encode(message: OutgoingMessage): Buffer | null;
}

/** The most aliases that we use, however many a client allows. */
const aliasesMax = 32;
/** A shorter topic costs as little as its alias. */
const aliasTopicLengthMin = 4;
/** MQTT.js 5.16 forgets what an alias stands for between PUBLISH and PUBREL. */
const aliasQosMax = 1;

export function createPublishEncoder(terms: Terms): PublishEncoder {
  return new TermedEncoder(terms);
}

/** A class, because ten thousand of them share one set of methods. */
class TermedEncoder implements PublishEncoder {
  readonly #terms: Terms;
  readonly #aliasMax: number;
  readonly #aliases: Map<string, number> | null;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#aliasMax = terms.version === 5 ? Math.min(terms.topicAliasMax, aliasesMax) : 0;
    this.#aliases = this.#aliasMax > 0 ? new Map() : null;
  }

  get receiveMaximum(): number {
    return this.#terms.receiveMaximum;
  }

  encode(message: OutgoingMessage): Buffer | null {
    const aliases = this.#aliases;
    const alias = this.#findAlias(message);
    const isNew = aliases !== null && alias > aliases.size;
    const bytes = encodePublish(this.#terms, message, alias > 0 && !isNew ? "" : message.topic, alias);
    if (bytes.length > this.#terms.packetBytesMax) return null;
    if (isNew) aliases.set(message.topic, alias);
    return bytes;
  }

  /** The alias that stands for the topic, now or from this packet on; 0 = none. */
  #findAlias({ topic, qos }: OutgoingMessage): number {
    const aliases = this.#aliases;
    if (aliases === null || qos > aliasQosMax) return 0;
    const alias = aliases.get(topic);
    if (alias !== undefined) return alias;
    const room = aliases.size < this.#aliasMax && topic.length >= aliasTopicLengthMin;
    return room ? aliases.size + 1 : 0;
  }
}

function encodePublish(terms: Terms, message: OutgoingMessage, topic: string, alias: number): Buffer {
  const { version } = terms;
  if (version < 5 || (alias === 0 && message.properties === null && message.identifiers.length === 0)) {
    return encodePlain(message, version === 5);
  }
  const { payload, qos, dup, retain, messageID, properties, identifiers } = message;
  const packet: IPublishPacket = {
    cmd: "publish",
    topic,
    payload: toBuffer(payload),
    qos,
    dup,
    retain,
    ...(qos === 0 ? {} : { messageId: messageID }),
    properties: {
      ...(properties === null ? {} : wireProperties(properties)),
      ...(alias === 0 ? {} : { topicAlias: alias }),
      ...(identifiers.length === 0 ? {} : { subscriptionIdentifier: [...identifiers] }),
    },
  };
  return mqttPacket.generate(packet, { protocolVersion: 5 });
}

function wireProperties(properties: MessageProperties): NonNullable<IPublishPacket["properties"]> {
  const { userProperties, correlationData, ...plain } = properties;
  return {
    ...plain,
    ...(correlationData === undefined ? {} : { correlationData: toBuffer(correlationData) }),
    // One object a pair: the library writes them in this order, and an object of all pairs would lose it.
    ...(userProperties === undefined
      ? {}
      : { userProperties: userProperties.map(([name, value]) => ({ [name]: value })) as never }),
  };
}

/** PUBLISH without properties, byte by byte: most messages have none. */
function encodePlain(message: OutgoingMessage, version5: boolean): Buffer {
  const { topic, payload, qos, dup, retain, messageID } = message;
  const topicBytes = Buffer.byteLength(topic);
  const length = 2 + topicBytes + (qos > 0 ? 2 : 0) + (version5 ? 1 : 0) + payload.length;
  const bytes = Buffer.allocUnsafe(1 + lengthBytes(length) + length);
  bytes[0] = 0x30 | (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0);
  let at = writeLength(bytes, length);
  at = bytes.writeUInt16BE(topicBytes, at);
  at += bytes.write(topic, at, "utf8");
  if (qos > 0) at = bytes.writeUInt16BE(messageID, at);
  if (version5) bytes[at++] = 0;
  bytes.set(payload, at);
  return bytes;
}

function lengthBytes(length: number): number {
  if (length < 128) return 1;
  if (length < 16_384) return 2;
  return length < 2_097_152 ? 3 : 4;
}

/** Writes it after the first byte; returns where the next field begins. */
function writeLength(bytes: Buffer, length: number): number {
  let at = 1;
  let left = length;
  for (; left > 127; left >>>= 7) bytes[at++] = (left & 0x7f) | 0x80;
  bytes[at++] = left;
  return at;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
