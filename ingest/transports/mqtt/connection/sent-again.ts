import { crc32c } from "../../../../store/lib/crc32c.js";
import type { PublishPacket } from "../codec/packets.js";

/** Beyond, the oldest is forgotten; as many as a connection may have in flight. */
const lateMax = 1000;

/**
 * The QoS 1 messages of a connection under whose packet ids a client may send the same message again: those that are
 * not acknowledged, and those that were acknowledged while what the client had sent before that was still unread.
 */
export class SentAgain {
  /** In the order in which they will be acknowledged. */
  readonly #open: PublishPacket[] = [];
  /** By packet id, what `digestOf` makes of the latest message. */
  #late: Map<number, number> | null = null;

  /** It has been taken, and is acknowledged later. */
  taken(packet: PublishPacket): void {
    this.#open.push(packet);
  }

  /** The first of those that were taken is acknowledged. `isBehind`: the client has sent more than has been read. */
  acknowledged(isBehind: boolean): void {
    const packet = this.#open.shift();
    if (packet === undefined || !isBehind) return;
    this.#late ??= new Map();
    this.#late.delete(packet.messageID);
    this.#late.set(packet.messageID, hashPublish(packet));
    const [oldest] = this.#late.keys();
    if (this.#late.size > lateMax && oldest !== undefined) this.#late.delete(oldest);
  }

  /** All that the client had sent before the last acknowledgement has been read. */
  caughtUp(): void {
    this.#late = null;
  }

  /** Whether a message with DUP is one of these. Another message under the same id is a new one. */
  has(packet: PublishPacket): boolean {
    const { messageID, topic, payload } = packet;
    const open = this.#open.findLast((one) => one.messageID === messageID);
    if (open !== undefined) return open.topic === topic && Buffer.compare(open.payload, payload) === 0;
    const late = this.#late?.get(messageID);
    return late !== undefined && late === hashPublish(packet);
  }
}

const lengthBits = 2 ** 20;

/** Topic and payload in 32 bits, and their length: a payload has less than 2^20 bytes. */
function hashPublish({ topic, payload }: PublishPacket): number {
  const checksum = crc32c(payload, 0, payload.length, crc32c(Buffer.from(topic)));
  return checksum * lengthBits + payload.length;
}
