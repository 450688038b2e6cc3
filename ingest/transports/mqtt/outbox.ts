import type { Wire } from "./wire.js";

/**
 * Collects the small packets of one connection, so that a commit that acknowledges fifty messages costs one
 * write to the socket.
 */
export interface Outbox {
  /** A four-byte acknowledgement: first byte and packet id (MQTT 3.1.1 §3.4). */
  acknowledge(firstByte: number, messageID: number): void;
  push(bytes: Uint8Array): void;
  /** Hands everything to the socket. */
  flush(): void;
  /** Bytes that the peer has not taken. */
  readonly waitingBytes: number;
}

const startBytes = 256;

export function createOutbox(socket: Wire): Outbox {
  let buffer: Buffer | null = null;
  let used = 0;

  function reserve(bytes: number): Buffer {
    if (buffer === null) {
      buffer = Buffer.allocUnsafe(Math.max(startBytes, bytes));
    } else if (used + bytes > buffer.length) {
      const wide = Buffer.allocUnsafe((used + bytes) * 2);
      buffer.copy(wide, 0, 0, used);
      buffer = wide;
    }
    return buffer;
  }

  return {
    acknowledge: (firstByte, messageID) => {
      const target = reserve(4);
      target[used] = firstByte;
      target[used + 1] = 2;
      target[used + 2] = messageID >> 8;
      target[used + 3] = messageID & 0xff;
      used += 4;
    },
    push: (bytes) => {
      reserve(bytes.length).set(bytes, used);
      used += bytes.length;
    },
    flush: () => {
      if (buffer === null) return;
      const bytes = buffer.subarray(0, used);
      buffer = null;
      used = 0;
      if (!socket.destroyed) socket.write(bytes);
    },
    get waitingBytes() {
      return socket.writableLength + used;
    },
  };
}
