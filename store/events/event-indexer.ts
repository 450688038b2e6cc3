import { Worker } from "node:worker_threads";
import type { Damage } from "../files/damage.js";
import { StoreError } from "../lib/errors.js";
import { threadLimits } from "../lib/thread-limits.js";
import type { IndexRequest } from "./event-index.worker.js";

/** The thread that indexes closed segments. */
export interface IndexWorker {
  ask(request: IndexRequest): Promise<void>;
  close(): Promise<void>;
}

/**
 * One request at a time; when the worker crashes, the request under way and all later ones fail. Damage in segments is
 * reported as it is found; a request that meets a damaged index file fails with StoreError CORRUPT.
 */
function startIndexWorker(path: string, onDamage: (damage: Damage) => void): IndexWorker {
  const worker = new Worker(new URL("./event-index.worker.js", import.meta.url), {
    workerData: { path },
    resourceLimits: threadLimits,
  });
  worker.unref();
  let settle: ((error: Error | null) => void) | null = null;
  let failed: Error | null = null;
  const end = (error: Error | null): void => {
    settle?.(error);
    settle = null;
  };
  const answer = (): Promise<void> =>
    new Promise((resolve, reject) => {
      if (failed !== null) reject(failed);
      else settle = (error) => (error === null ? resolve() : reject(error));
    });
  worker.on("message", (message: { error: string | null; damaged: boolean } | { damage: Damage }) => {
    if ("damage" in message) onDamage(message.damage);
    else if (message.error === null) end(null);
    else end(message.damaged ? new StoreError("CORRUPT", message.error) : new Error(message.error));
  });
  worker.on("error", (error) => {
    failed = error;
    end(error);
  });
  worker.on("exit", () => {
    failed ??= new Error("cannot index segments: the worker has ended");
    end(null);
  });
  let tail: Promise<unknown> = answer();
  const ask = (request: IndexRequest): Promise<void> => {
    const asked = tail.then(() => {
      const answered = answer();
      worker.postMessage(request);
      return answered;
    });
    tail = asked.catch(() => undefined);
    return asked;
  };
  return {
    ask,
    close: async () => {
      // Nothing else may keep the process alive until the answer.
      worker.ref();
      await ask({ kind: "close" }).catch(() => undefined);
      await worker.terminate();
    },
  };
}

/** Starts the thread with the first request: a quiet service closes no segment for days. */
export function createIndexWorker(path: string, onDamage: (damage: Damage) => void): IndexWorker {
  let worker: IndexWorker | undefined;
  return {
    ask: (request) => {
      worker ??= startIndexWorker(path, onDamage);
      return worker.ask(request);
    },
    close: async () => worker?.close(),
  };
}
