import { moveControlLogs, type StatusChange } from "../../store/control-logs.js";
import type { Db } from "../../store/db.js";
import type { Logger } from "../log.js";

/** What becomes of issued messages, gathered so that a thousand acknowledgements cost a few writes. */
export interface Receipts {
  add(change: StatusChange): void;
  /** Stores what is left; a failure is given up. */
  close(): Promise<void>;
}

const changesPerWrite = 1000;
const retryMs = 1000;

export interface ReceiptsDeps {
  readonly db: Db;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createReceipts({ db, log, now }: ReceiptsDeps): Receipts {
  let waiting: StatusChange[] = [];
  let running: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  /** What arrives while a write runs goes with the next one. */
  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const some = waiting.splice(0, changesPerWrite);
      try {
        await moveControlLogs(db, now(), some);
      } catch (error) {
        waiting = [...some, ...waiting];
        log.warn("receipts of commands are not stored yet", { error });
        if (!closed) retry = setTimeout(start, retryMs);
        break;
      }
    }
    // In the turn of the last look: what is added a moment later must find that nobody drains.
    running = null;
  }

  function start(): void {
    retry = undefined;
    if (running === null && waiting.length > 0) running = drain();
  }

  return {
    add: (change) => {
      waiting.push(change);
      if (running === null && retry === undefined) setImmediate(start);
    },
    close: async () => {
      closed = true;
      clearTimeout(retry);
      start();
      await running;
    },
  };
}
