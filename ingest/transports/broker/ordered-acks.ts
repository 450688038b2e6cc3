/** The acknowledgements of one connection to the broker, in the order of its messages [MQTT-4.6.0-2]. */
import type { Link } from "./link.js";

export class OrderedAcks {
  readonly #link: Link;
  readonly #onAnswer: () => void;
  #appended = 0;
  #kept = 0;
  /** Messages that are not kept: acknowledged after all that came before them. */
  readonly #waiting: { readonly after: number; readonly messageID: number }[] = [];
  /** The connection has ended: nothing is acknowledged any more. */
  isOver = false;

  /** @param onAnswer there are acknowledgements to flush, soon */
  constructor(link: Link, onAnswer: () => void) {
    this.#link = link;
    this.#onAnswer = onAnswer;
  }

  /** Acknowledges a message of which nothing is kept. */
  answer(messageID: number): void {
    if (this.#kept === this.#appended) this.#acknowledge(messageID);
    else this.#waiting.push({ after: this.#appended, messageID });
  }

  /** One more message is on its way to the disk; the callback is for when it is there. */
  awaitKept(messageID: number): () => void {
    this.#appended++;
    return () => {
      this.#kept++;
      this.#acknowledge(messageID);
      if (this.#waiting.length > 0) this.#acknowledgeWaiting();
    };
  }

  #acknowledgeWaiting(): void {
    let some = 0;
    for (const { after, messageID } of this.#waiting) {
      if (after > this.#kept) break;
      this.#acknowledge(messageID);
      some++;
    }
    this.#waiting.splice(0, some);
  }

  #acknowledge(messageID: number): void {
    if (this.isOver || messageID === 0) return;
    this.#link.acknowledge(messageID);
    this.#onAnswer();
  }
}
