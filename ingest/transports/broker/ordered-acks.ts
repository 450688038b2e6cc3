/** The acknowledgements of one connection to the broker, in the order of its messages [MQTT-4.6.0-2]. */
import type { BrokerLink } from "./link.js";

/** A message whose acknowledgement waits for its disk, or for those before it. */
interface Waiting {
  readonly messageID: number;
  isReady: boolean;
}

const nothing = (): void => undefined;

/** Shards keep what they take each at its own time. A message id of 0 (QoS 0) is never acknowledged, nor waited for. */
export class OrderedAcks {
  readonly #link: BrokerLink;
  readonly #onAnswer: () => void;
  #waiting: Waiting[] = [];
  /** Those before this index have been acknowledged. */
  #first = 0;
  /** The connection has ended: nothing is acknowledged any more. */
  isOver = false;

  /** @param onAnswer there are acknowledgements to flush, soon */
  constructor(link: BrokerLink, onAnswer: () => void) {
    this.#link = link;
    this.#onAnswer = onAnswer;
  }

  /** Acknowledges a message of which nothing is kept. */
  answer(messageID: number): void {
    if (messageID === 0) return;
    if (this.#first === this.#waiting.length) this.#acknowledge(messageID);
    else this.#waiting.push({ messageID, isReady: true });
  }

  /** One more message is on its way to the disk; the callback is for when it is there. */
  awaitKept(messageID: number): () => void {
    // One that waits for long would hold any number of them.
    if (messageID === 0) return nothing;
    const one = { messageID, isReady: false };
    this.#waiting.push(one);
    return () => {
      one.isReady = true;
      this.#acknowledgeReady();
    };
  }

  #acknowledgeReady(): void {
    for (let one = this.#waiting[this.#first]; one?.isReady; one = this.#waiting[++this.#first])
      this.#acknowledge(one.messageID);
    // A steady flow of messages never leaves the list empty, so acknowledged ones are released now and then.
    if (this.#first * 2 < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  }

  #acknowledge(messageID: number): void {
    if (this.isOver) return;
    this.#link.acknowledge(messageID);
    this.#onAnswer();
  }
}
