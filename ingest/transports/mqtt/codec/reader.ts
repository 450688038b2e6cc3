import { isUtf8 } from "node:buffer";
import type { EndReason } from "../../../meter.js";

/** Why a packet cannot be taken: the connection ends for `reason`; a client of MQTT 5 receives the message. */
export class Violation extends Error {
  readonly reason: EndReason;

  constructor(reason: EndReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What cannot be parsed (MQTT 5.0 §1.2, Malformed Packet). */
export function malformed(message: string): Violation {
  return new Violation("malformed", message);
}

/** What can be parsed and is not allowed (MQTT 5.0 §1.2, Protocol Error). */
export function protocolError(message: string): Violation {
  return new Violation("protocol", message);
}

const replacement = "\ufffd";

/**
 * Reads the data types of MQTT 5.0 §1.5 from one packet, never beyond its end. A class: one is made for each packet.
 * Every method throws a Violation if the bytes are not of the type.
 */
export class Reader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  #take(count: number): number {
    const at = this.#at;
    if (count > this.#end - at) throw malformed("the packet is shorter than it says");
    this.#at = at + count;
    return at;
  }

  byte(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  /** A byte that must be 0 or 1. */
  flag(): boolean {
    const value = this.byte();
    if (value > 1) throw protocolError("a flag is neither 0 nor 1");
    return value === 1;
  }

  uint16(): number {
    return this.#bytes.readUInt16BE(this.#take(2));
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#take(4));
  }

  /** A variable byte integer in its shortest form [MQTT-1.5.5-1]. */
  variable(): number {
    let value = 0;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) !== 0) continue;
      if (byte === 0 && shift > 0) throw malformed("an integer is longer than it need be");
      return value;
    }
    throw malformed("an integer has more than four bytes");
  }

  /** Well-formed UTF-8 without U+0000 [MQTT-1.5.4-1], [MQTT-1.5.4-2]; U+FEFF stays where it is. */
  text(): string {
    const length = this.uint16();
    const at = this.#take(length);
    const text = this.#bytes.toString("utf8", at, at + length);
    if (text.includes("\0")) throw malformed("a string contains U+0000");
    if (text.includes(replacement) && !isUtf8(this.#bytes.subarray(at, at + length))) {
      throw malformed("a string is not UTF-8");
    }
    return text;
  }

  /** Shares memory with what was read. */
  binary(): Buffer {
    const length = this.uint16();
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  skip(length: number): void {
    this.#take(length);
  }

  /** The rest of the bytes; shares memory with the packet. */
  rest(): Buffer {
    const at = this.#take(this.left);
    return this.#bytes.subarray(at, this.#end);
  }

  /** A reader of the next `length` bytes, which this one skips. */
  part(length: number): Reader {
    const at = this.#take(length);
    return new Reader(this.#bytes, at, at + length);
  }

  end(): void {
    if (this.left > 0) throw malformed("the packet is longer than its fields");
  }
}
