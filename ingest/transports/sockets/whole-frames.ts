import type { Duplex } from "node:stream";
import { GrowingBuffer } from "../../../store/lib/growing-buffer.js";

type Take = (bytes: Buffer) => void;

const headBytesMax = 14;

/**
 * Hands the bytes of a WebSocket on frame by frame (RFC 6455 §5.2): of one that has not come whole the library keeps a
 * Buffer for each piece of the network, some 350 bytes where a client sends single ones. To be called once it listens
 * to the socket.
 *
 * @param payloadBytesMax of a frame; a larger one is handed on at once, to be refused
 */
export function gatherFrames(socket: Duplex, payloadBytesMax: number): void {
  const takers = socket.listeners("data") as Take[];
  const gatherer = new FrameGatherer(payloadBytesMax, (bytes) => {
    for (const take of takers) take.call(socket, bytes);
  });
  socket.on("data", (bytes: Buffer) => gatherer.take(bytes));
  for (const take of takers) socket.off("data", take);
  // What the library still finds in the socket as it closes comes after this.
  socket.prependOnceListener("close", () => gatherer.flush());
}

export class FrameGatherer {
  readonly #payloadBytesMax: number;
  readonly #handOn: Take;
  #head = new GrowingBuffer(headBytesMax);
  /** The frame under way, once its size is known. */
  #frame: GrowingBuffer | null = null;
  #frameBytes = 0;
  #isPassing = false;

  constructor(payloadBytesMax: number, handOn: Take) {
    this.#payloadBytesMax = payloadBytesMax;
    this.#handOn = handOn;
  }

  take(bytes: Buffer): void {
    if (this.#isPassing) return this.#handOn(bytes);
    let at = 0;
    while (at < bytes.length && !this.#isPassing) {
      if (this.#head.length > 0 || this.#frame !== null) at += this.#gather(bytes.subarray(at));
      else {
        const end = endOfWhole(bytes, at);
        if (end > at) this.#handOn(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        else at += this.#gather(bytes.subarray(at));
        at = Math.max(at, end);
      }
    }
    if (at < bytes.length) this.#handOn(bytes.subarray(at));
  }

  /** Hands on what has come of a frame that will not come whole. */
  flush(): void {
    const begun = this.#frame ?? this.#head;
    if (begun.length > 0) this.#handOn(begun.take());
    this.#frame = null;
  }

  /** Takes of the bytes what belongs to the frame under way; returns how many. */
  #gather(bytes: Buffer): number {
    if (this.#frame === null) {
      const taken = Math.min(bytes.length, headBytes(this.#head.bytes) - this.#head.length);
      this.#head.append(bytes.subarray(0, taken));
      const size = sizeOfFrame(this.#head.bytes, 0);
      if (size !== null) this.#begin(size);
      return taken;
    }
    const taken = Math.min(bytes.length, this.#frameBytes - this.#frame.length);
    this.#frame.append(bytes.subarray(0, taken));
    if (this.#frame.length === this.#frameBytes) this.flush();
    return taken;
  }

  #begin(size: number): void {
    this.#isPassing = size > this.#payloadBytesMax + headBytesMax;
    if (this.#isPassing) return this.flush();
    this.#frameBytes = size;
    this.#frame = new GrowingBuffer(size);
    this.#frame.append(this.#head.take());
    if (this.#frame.length === size) this.flush();
  }
}

/** Where the last of the frames ends that are whole from `at` on. */
function endOfWhole(bytes: Buffer, at: number): number {
  let end = at;
  for (let size = sizeOfFrame(bytes, end); size !== null && end + size <= bytes.length; ) {
    end += size;
    size = sizeOfFrame(bytes, end);
  }
  return end;
}

/** Bytes of the part of a head that contains the frame's length, as far as its first bytes show. */
function headBytes(bytes: Buffer): number {
  const short = (bytes[1] ?? 0) & 0x7f;
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
}

/** Null: too little of its head is there. */
function sizeOfFrame(bytes: Buffer, at: number): number | null {
  if (bytes.length - at < 2) return null;
  const second = bytes[at + 1] as number;
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (bytes.length - at < 2 + lengthBytes) return null;
  const payload =
    lengthBytes === 0
      ? short
      : lengthBytes === 2
        ? bytes.readUInt16BE(at + 2)
        : Number(bytes.readBigUInt64BE(at + 2));
  return 2 + lengthBytes + ((second & 0x80) === 0 ? 0 : 4) + payload;
}
