import { moveControlLogs, type StatusChange } from "../../store/metadata/commands/control-logs.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Logger } from "../observability/log.js";

/** Receipts of issued messages, written in batches so that a thousand acknowledgements cost a few writes. */
export interface Receipts {
  add(change: StatusChange): void;
  /** Resolves once everything added so far is stored. @throws what the store throws */
  stored(): Promise<void>;
  /** Stores what is left; a failure is ignored. */
  close(): Promise<void>;
}

const changesPerWrite = 1000;
const retryMs = 1000;

interface ReceiptsDeps {
  readonly db: Db;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Waiter {
  /** Number of the last change that the caller waits for. */
  readonly last: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function createReceipts({ db, log, now }: ReceiptsDeps): Receipts {
  let waiting: StatusChange[] = [];
  let added = 0;
  let stored = 0;
  let waiters: Waiter[] = [];
  let running: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  /** What arrives while a write runs goes with the next one. */
  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const some = waiting.splice(0, changesPerWrite);
      try {
        await moveControlLogs(db, now(), some);
        stored += some.length;
        wake();
      } catch (error) {
        waiting = [...some, ...waiting];
        log.warn("receipts of commands are not stored yet", { error });
        if (!closed) retry = setTimeout(start, retryMs);
        for (const { reject } of waiters.splice(0)) reject(error);
        break;
      }
    }
    // In the same turn as the last look: what is added a moment later must see that nobody is draining.
    running = null;
  }

  function wake(): void {
    const ready = waiters.filter(({ last }) => last <= stored);
    if (ready.length === 0) return;
    waiters = waiters.filter(({ last }) => last > stored);
    for (const { resolve } of ready) resolve();
  }

  function start(): void {
    retry = undefined;
    if (running === null && waiting.length > 0) running = drain();
  }

  return {
    add: (change) => {
      waiting.push(change);
      added++;
      if (running === null && retry === undefined) start();
    },
    stored: () => {
      const last = added;
      if (last <= stored) return Promise.resolve();
      if (closed) return Promise.reject(new Error("cannot store receipts: they were given up"));
      return new Promise((resolve, reject) => {
        waiters.push({ last, resolve, reject });
      });
    },
    close: async () => {
      closed = true;
      clearTimeout(retry);
      start();
      await running;
    },
  };
}
