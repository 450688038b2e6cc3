import { malformed, Violation } from "./reader.js";

/** The receiver of the packets of a byte stream. */
export interface FrameOwner {
  /** Most bytes of a whole packet, fixed header included; may change with every packet. */
  readonly frameBytesMax: number;
  /** MQTT 5 requires lengths in their shortest form [MQTT-1.5.5-1]; earlier versions do not. */
  readonly strictLengths: boolean;
  /** Whether to stop reading: the connection has ended, or what follows has to wait. */
  readonly takesNoMore: boolean;
  /** A packet begins with this byte; may throw a Violation if it must not. */
  begin(firstByte: number): void;
  /** One whole packet: its first byte, and where in `bytes` the rest after the fixed header lies. */
  frame(firstByte: number, bytes: Buffer, start: number, end: number): void;
}

/** A packet as it came; `flags` are those of its first byte, `body` what follows its fixed header. */
export function framePacket(type: number, flags: number, body: Buffer): Buffer {
  const header = [(type << 4) | flags];
  let length = body.length;
  do {
    const more = length > 127 ? 0x80 : 0;
    header.push((length & 0x7f) | more);
    length >>= 7;
  } while (length > 0);
  return Buffer.concat([Buffer.from(header), body]);
}

const collectBytesMin = 1024;
const empty = Buffer.alloc(0);

/**
 * Cuts a byte stream into packets (fixed header, MQTT 5.0 §2.1). A packet's declared size is refused as soon as it
 * is read. The part of a packet that has come takes no more than twice its bytes, however many chunks it came in.
 */
export class Framer {
  #firstByte = -1;
  /** Bytes of the remaining length read so far; 0 also while the packet itself is collected. */
  #lengthBytes = 0;
  #length = 0;
  #collected: Buffer | null = null;
  #used = 0;

  /**
   * Returns how many bytes have been read: all, unless `owner` takes no more.
   * @throws Violation if a packet that is too large, or a malformed length, has begun
   */
  read(chunk: Buffer, owner: FrameOwner): number {
    let at = 0;
    while (at < chunk.length && !owner.takesNoMore) {
      if (this.#collected !== null) at = this.#collect(chunk, at, owner);
      else if (this.#firstByte < 0) {
        this.#firstByte = chunk[at++] as number;
        owner.begin(this.#firstByte);
      } else at = this.#readLength(chunk, at, owner);
    }
    return at;
  }

  #readLength(chunk: Buffer, at: number, owner: FrameOwner): number {
    const byte = chunk[at] as number;
    this.#length += (byte & 0x7f) * 2 ** (7 * this.#lengthBytes++);
    if (1 + this.#lengthBytes + this.#length > owner.frameBytesMax) {
      throw new Violation("oversize", `a packet may have ${owner.frameBytesMax} bytes`);
    }
    if ((byte & 0x80) !== 0) {
      if (this.#lengthBytes === 4) throw malformed("the remaining length has more than four bytes");
      return at + 1;
    }
    if (byte === 0 && this.#lengthBytes > 1 && owner.strictLengths) {
      throw malformed("the remaining length is longer than it need be");
    }
    return this.#begin(chunk, at + 1, owner);
  }

  /** The fixed header is complete. */
  #begin(chunk: Buffer, at: number, owner: FrameOwner): number {
    const end = at + this.#length;
    if (end <= chunk.length) {
      this.#hand(chunk, at, end, owner);
      return end;
    }
    this.#collected = empty;
    return at;
  }

  #collect(chunk: Buffer, at: number, owner: FrameOwner): number {
    const taken = Math.min(this.#length - this.#used, chunk.length - at);
    let collected = this.#collected ?? empty;
    if (this.#used + taken > collected.length) {
      const bytes = Math.max(collectBytesMin, 2 * (this.#used + taken));
      const wide = Buffer.allocUnsafeSlow(Math.min(this.#length, bytes));
      collected.copy(wide, 0, 0, this.#used);
      collected = wide;
    }
    chunk.copy(collected, this.#used, at, at + taken);
    this.#collected = collected;
    this.#used += taken;
    if (this.#used === this.#length) this.#hand(collected, 0, this.#length, owner);
    return at + taken;
  }

  #hand(bytes: Buffer, start: number, end: number, owner: FrameOwner): void {
    const firstByte = this.#firstByte;
    this.#firstByte = -1;
    this.#lengthBytes = 0;
    this.#length = 0;
    this.#collected = null;
    this.#used = 0;
    owner.frame(firstByte, bytes, start, end);
  }
}
