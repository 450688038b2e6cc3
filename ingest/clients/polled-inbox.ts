import type { Outgoing, SessionMessage, SessionState } from "../sessions/state.js";
import type { ClientLink } from "./client.js";
import { outgoingID } from "./outgoing-id.js";

/** What a client that polls is handed, and what becomes of it. */
interface PolledInboxOptions {
  /** Whether the device's policies allow it to read the topic now, and the message's time is not over. */
  readonly isDue: (message: Outgoing) => boolean;
  /** The message needs no more: acknowledged, or given up. */
  readonly settle: (messageID: number, acknowledged: boolean) => void;
}

/** A message as a poll answers it. */
export interface Polled {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly contentType: string | null;
  /** Names it for its receipt; null: it needs none. */
  readonly id: string | null;
}

/** Messages that one poll looks at. */
const looksMax = 500;
/** Polls of one device that wait at once. The oldest ends: who has lost its network has left it behind. */
const pollsMax = 8;

/** Takes one message, or null once the waiting is over. */
type Poll = (message: Polled | null) => void;

/**
 * The messages of one session for a client that fetches them one by one: a message that has been handed out comes again
 * until its receipt has come, so that an answer lost on the way loses nothing.
 */
export class PolledInbox implements ClientLink {
  /** Nothing is written ahead of a poll. */
  readonly waitingBytes = 0;
  readonly isPolled = true;
  readonly #state: Pick<SessionState, "outgoing">;
  readonly #options: PolledInboxOptions;
  readonly #polls = new Set<Poll>();

  constructor(state: Pick<SessionState, "outgoing">, options: PolledInboxOptions) {
    this.#state = state;
    this.#options = options;
  }

  get isWaitedFor(): boolean {
    return this.#polls.size > 0;
  }

  /** The oldest message that waits; one whose time is over, or that is forbidden now, is given up on the way. */
  first(): Polled | null {
    let looks = 0;
    for (const message of this.#state.outgoing.values()) {
      if (this.#options.isDue(message)) {
        message.sent = true;
        return { ...toPolled(message), id: outgoingID(message) };
      }
      this.#options.settle(message.messageID, false);
      // Thousands may have expired: the next poll goes on.
      if (++looks === looksMax) break;
    }
    return null;
  }

  /** Hands the next message to `poll`; returns what takes the poll back. */
  wait(poll: Poll): () => void {
    const [oldest] = this.#polls;
    if (oldest !== undefined && this.#polls.size >= pollsMax) {
      this.#polls.delete(oldest);
      oldest(null);
    }
    this.#polls.add(poll);
    return () => void this.#polls.delete(poll);
  }

  /** The receipt; false if no such message waits. */
  confirm(id: string): boolean {
    const message = this.#state.outgoing.get(Number(id.split("-", 1)[0]));
    if (message === undefined || outgoingID(message) !== id) return false;
    this.#options.settle(message.messageID, true);
    return true;
  }

  /** A message at QoS 0 goes to the request that waits now, or to none. */
  deliver(message: SessionMessage): boolean {
    return this.#answer({ ...toPolled(message), id: null });
  }

  send(): void {
    if (!this.isWaitedFor) return;
    const first = this.first();
    if (first !== null) this.#answer(first);
  }

  /** A poll asks by itself. */
  resume(): void {}

  /** Retained messages of QoS 0 are for clients that are there: a poll begins with what waits. */
  handOver(): void {}

  /** The client has gone: nobody waits any more. */
  close(): void {
    for (const poll of [...this.#polls]) poll(null);
    this.#polls.clear();
  }

  #answer(message: Polled): boolean {
    const [poll] = this.#polls;
    if (poll === undefined) return false;
    this.#polls.delete(poll);
    poll(message);
    return true;
  }
}

function toPolled({ topic, payload, properties }: SessionMessage): Omit<Polled, "id"> {
  return { topic, payload, contentType: properties?.contentType ?? null };
}
