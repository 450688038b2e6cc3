import { Worker } from "node:worker_threads";
import { StoreError } from "../../lib/errors.js";
import { threadLimits } from "../../lib/thread-limits.js";
import { createCaller, type ThreadCaller } from "./calls.js";
import { toSeriesError } from "./failures.js";
import { readerFilesMax } from "./open-files.js";
import type { ReaderCalls, ReaderEvent } from "./protocol.js";

export interface Readers {
  /** Asks the reader with the fewest calls. */
  call: ThreadCaller<ReaderCalls>["call"];
  /** Resolves once no reader holds any of these files open. */
  forget(paths: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

interface Reader {
  readonly caller: ThreadCaller<ReaderCalls>;
  readonly worker: Worker;
}

const restartPauseMs = 1000;

/**
 * Reader threads keep nothing that is not in files: one that dies is replaced, and what it was asked fails. Each starts
 * with the first call that finds no other idle.
 */
export function createReaders({
  dir,
  threads,
  onFault,
}: {
  dir: string;
  threads: number;
  /** Called for what a reader left out of an answer. */
  onFault: (event: ReaderEvent) => void;
}): Readers {
  const readers: Reader[] = [];
  let closing: Promise<void> | undefined;

  function start(index: number): Reader {
    const worker = new Worker(new URL("./reader.worker.js", import.meta.url), {
      workerData: { dir, filesMax: readerFilesMax(threads) },
      resourceLimits: threadLimits,
    });
    const caller = createCaller<ReaderCalls>(worker, (event) => onFault(event as ReaderEvent));
    worker.on("error", (error) => caller.fail(toSeriesError(error, "read series: a reader stopped")));
    worker.on("exit", () => {
      caller.fail(new StoreError("UNAVAILABLE", "cannot read series: a reader stopped"));
      setTimeout(() => closing ?? start(index), restartPauseMs).unref();
    });
    const reader = { worker, caller };
    readers[index] = reader;
    return reader;
  }

  function leastBusy(): Reader {
    const working = readers.filter(({ caller }) => !caller.failed());
    const [best] = working.toSorted((a, b) => a.caller.waiting() - b.caller.waiting());
    if (best?.caller.waiting() !== 0 && readers.length < threads) return start(readers.length);
    return best ?? readers[0] ?? start(0);
  }

  const isClosed = (): StoreError => new StoreError("UNAVAILABLE", "cannot read series: the store is closed");

  async function closeAll(): Promise<void> {
    await Promise.allSettled(readers.map(({ caller }) => caller.call("close", null)));
    for (const { caller, worker } of readers) {
      caller.fail(isClosed());
      await worker.terminate();
    }
  }

  return {
    call: (name, args, more) => {
      // A reader that has closed its files must get no more calls: it is about to be terminated, and ending a thread
      // within a call aborts the process.
      if (closing !== undefined) return Promise.reject(isClosed());
      return leastBusy().caller.call(name, args, more);
    },
    forget: async (paths) => {
      if (closing !== undefined) return closing;
      // A reader that has died holds no files.
      await Promise.allSettled(readers.map(({ caller }) => caller.call("forget", paths)));
    },
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}
