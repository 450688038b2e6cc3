/** Messages of a client that are taken and not on disk yet. */
export interface InFlightBounds {
  readonly messages: number;
  readonly bytes: number;
}

/** Beyond either bound a client is not read. */
export const usualInFlight: InFlightBounds = { messages: 1000, bytes: 1024 * 1024 };

export class InFlight {
  readonly #bounds: InFlightBounds;
  #messages = 0;
  #bytes = 0;

  constructor(bounds: InFlightBounds = usualInFlight) {
    this.#bounds = bounds;
  }

  get messages(): number {
    return this.#messages;
  }

  add(bytes: number): void {
    this.#messages++;
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#messages--;
    this.#bytes -= bytes;
  }

  /** Whether more than `share` of a bound is in use; `waiting` more messages, of `waitingBytes`, wait beside them. */
  isFull(share: number, waiting = 0, waitingBytes = 0): boolean {
    const { messages, bytes } = this.#bounds;
    return this.#messages + waiting > messages * share || this.#bytes + waitingBytes > bytes * share;
  }
}
