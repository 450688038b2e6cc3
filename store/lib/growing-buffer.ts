const empty = Buffer.alloc(0);
const capacityMin = 256;

/**
 * Bytes gathered from pieces. Each piece is copied, so that what is held does not depend on how many there were: a
 * Buffer of one byte takes some 350.
 */
export class GrowingBuffer {
  readonly #bytesMax: number;
  #bytes: Buffer = empty;
  #length = 0;

  /** @param bytesMax the most that will be gathered; no more is ever allocated */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The gathered bytes; valid until more are added. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes that it takes in memory. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Bytes that it would take in memory with so many more gathered: at most twice as many as have come. */
  capacityWith(more: number): number {
    const length = this.#length + more;
    if (length <= this.#bytes.length) return this.#bytes.length;
    return Math.min(this.#bytesMax, Math.max(capacityMin, 2 * length));
  }

  /** @throws RangeError beyond `bytesMax` */
  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#bytesMax)
      throw new RangeError(`cannot gather ${length} bytes: ${this.#bytesMax} at most`);
    if (length > this.#bytes.length) {
      const wider = Buffer.allocUnsafeSlow(this.capacityWith(piece.length));
      this.#bytes.copy(wider, 0, 0, this.#length);
      this.#bytes = wider;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  /** Takes the gathered bytes without a copy; the buffer is empty then. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = empty;
    this.#length = 0;
    return taken;
  }
}
