import type { ByteStream } from "./byte-stream.js";

/**
 * Collects the small packets of one connection, so that a commit that acknowledges fifty messages costs one
 * write to the socket.
 */
export interface WriteBuffer {
  /** A four-byte acknowledgement: first byte and packet id (MQTT 3.1.1 §3.4). */
  acknowledge(firstByte: number, messageID: number): void;
  push(bytes: Uint8Array): void;
  /** Hands everything to the socket. */
  flush(): void;
  /** Bytes that the peer has not taken. */
  readonly waitingBytes: number;
}

const startBytes = 256;

export function createWriteBuffer(stream: ByteStream): WriteBuffer {
  return new StreamWriteBuffer(stream);
}

/** A class, because ten thousand of them share one set of methods. */
class StreamWriteBuffer implements WriteBuffer {
  readonly #stream: ByteStream;
  #buffer: Buffer | null = null;
  #used = 0;

  constructor(stream: ByteStream) {
    this.#stream = stream;
  }

  get waitingBytes(): number {
    return this.#stream.writableLength + this.#used;
  }

  acknowledge(firstByte: number, messageID: number): void {
    const target = this.#reserve(4);
    const at = this.#used;
    target[at] = firstByte;
    target[at + 1] = 2;
    target[at + 2] = messageID >> 8;
    target[at + 3] = messageID & 0xff;
    this.#used = at + 4;
  }

  push(bytes: Uint8Array): void {
    this.#reserve(bytes.length).set(bytes, this.#used);
    this.#used += bytes.length;
  }

  flush(): void {
    if (this.#buffer === null) return;
    const bytes = this.#buffer.subarray(0, this.#used);
    this.#buffer = null;
    this.#used = 0;
    if (!this.#stream.destroyed) this.#stream.write(bytes);
  }

  #reserve(bytes: number): Buffer {
    const wanted = this.#used + bytes;
    if (this.#buffer === null) {
      this.#buffer = Buffer.allocUnsafe(Math.max(startBytes, bytes));
    } else if (wanted > this.#buffer.length) {
      const wide = Buffer.allocUnsafe(wanted * 2);
      this.#buffer.copy(wide, 0, 0, this.#used);
      this.#buffer = wide;
    }
    return this.#buffer;
  }
}
