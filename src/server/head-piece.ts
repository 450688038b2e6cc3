const end = Buffer.from("\r\n\r\n");
/** Bytes of an end that may stand before a piece. */
const before = end.length - 1;
const nothing = Buffer.alloc(0);

/**
 * Cuts bytes where the head of a request ends (RFC 9112 §2.1): the parser makes an object of each request that a piece
 * holds, hundreds of times as large, and cannot be stopped within one.
 */
export class HeadCutter {
  /** The last bytes of the head that have been cut off so far. */
  #last: Buffer = nothing;

  /** How many of the bytes, at most `bytesMax`, belong to the head that goes on with them. */
  next(bytes: Buffer, bytesMax: number): number {
    const some = bytes.length <= bytesMax ? bytes : bytes.subarray(0, bytesMax);
    const known = this.#last.length === 0 ? some : Buffer.concat([this.#last, some]);
    const at = known.indexOf(end);
    if (at >= 0) {
      const size = at + end.length - this.#last.length;
      this.#last = nothing;
      return size;
    }
    this.#last = Buffer.from(known.subarray(Math.max(0, known.length - before)));
    return some.length;
  }
}
