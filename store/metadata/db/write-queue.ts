import { isUnavailable } from "../../lib/errors.js";
import type { WriteResult } from "./connection/connection.js";
import type { Statement } from "./sql.js";

type Run = (statements: readonly Statement[]) => Promise<WriteResult[]>;

interface Waiting {
  readonly statements: readonly Statement[];
  readonly resolve: (results: WriteResult[]) => void;
  readonly reject: (error: unknown) => void;
}

interface WriteQueue {
  readonly write: Run;
  /** Runs `action` in its turn, while no write of this queue runs. */
  exclusive<T>(action: () => Promise<T>): Promise<T>;
  /** Resolves once nothing waits any more. */
  settled(): Promise<void>;
}

/** Statements joined into one transaction, so that a burst of requests costs one sync of the disk. */
const statementsMax = 64;

/**
 * Puts writes that arrive together into one transaction, each all or none: if the joint transaction is refused, every
 * write is tried alone and gets its own result. `run` executes a transaction.
 */
export function createWriteQueue(run: Run): WriteQueue {
  let queue: Waiting[] = [];
  let draining: Promise<void> | null = null;
  let alone: (() => Promise<void>)[] = [];

  function take(): Waiting[] {
    let statements = 0;
    const end = queue.findIndex((one) => {
      statements += one.statements.reduce((sum, { rows = 1 }) => sum + rows, 0);
      return statements > statementsMax;
    });
    const taken = end < 0 ? queue : queue.slice(0, Math.max(1, end));
    queue = queue.slice(taken.length);
    return taken;
  }

  async function runJoined(together: readonly Waiting[]): Promise<void> {
    try {
      const results = await run(together.flatMap((one) => one.statements));
      let from = 0;
      for (const one of together) {
        one.resolve(results.slice(from, from + one.statements.length));
        from += one.statements.length;
      }
    } catch (error) {
      // Trying each alone helps only if the fault of one write caused the refusal of the others.
      const ofAll = isUnavailable(error);
      if (together.length === 1 || ofAll) for (const one of together) one.reject(error);
      else for (const one of together) await runJoined([one]);
    }
  }

  async function drain(): Promise<void> {
    // Collects the writes of one action; those that come while they are under way go together after them.
    await undefined;
    while (queue.length > 0 || alone.length > 0) {
      const actions = alone;
      alone = [];
      for (const action of actions) await action();
      if (queue.length > 0) await runJoined(take());
    }
    draining = null;
  }

  function start(): void {
    draining ??= drain();
  }

  return {
    write: (statements) =>
      new Promise((resolve, reject) => {
        queue.push({ statements, resolve, reject });
        start();
      }),
    exclusive: (action) =>
      new Promise((resolve, reject) => {
        alone.push(() => action().then(resolve, reject));
        start();
      }),
    settled: async () => {
      while (draining !== null) await draining;
    },
  };
}
