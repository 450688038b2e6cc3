import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { StoreError } from "../lib/errors.js";
import { threadLimits } from "../lib/thread-limits.js";
import { createCaller, type Shapes, type ThreadCaller } from "../series/embedded/calls.js";
import { toSeriesError } from "../series/embedded/failures.js";

/** What every thread of this kind answers, beside calls of its own. */
export type FileCalls = {
  /** Answered once the file of this path is closed, and its descriptors are free. */
  close: { args: string; answer: null };
  /** Ends the thread after the answer. */
  end: { args: null; answer: null };
};

/** One thread from its start to its end. */
export interface RunningThread<C extends Shapes> {
  /** @throws StoreError, also for all calls that wait when the thread dies */
  readonly call: ThreadCaller<C>["call"];
  /** Keeps the process alive until the work is done. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * A worker thread in which many files are open. It starts with the first file and ends with the last; where it has died,
 * the next file that is asked for starts another.
 */
interface FileThread<C extends Shapes> {
  /** The thread that has this file open from now on. */
  enter(path: string): RunningThread<C>;
  /** Resolves once the file is closed; at once if it is not open. */
  leave(path: string): Promise<void>;
}

interface FileThreadOptions {
  readonly script: URL;
  /** What it does, as errors say it: "cannot …". */
  readonly verb: string;
  /** Receives messages that answer no call. */
  readonly onEvent: (message: unknown) => void;
}

interface Started<C extends Shapes> extends RunningThread<C> {
  readonly files: Set<string>;
  failed(): boolean;
  close(path: string): Promise<void>;
  end(): Promise<void>;
}

export function createFileThread<C extends Shapes>(options: FileThreadOptions): FileThread<C> {
  let running: Started<C> | null = null;
  return {
    enter: (path) => {
      if (running === null || running.failed()) running = start<C>(options);
      running.files.add(path);
      return running;
    },
    leave: async (path) => {
      const thread = running;
      if (thread?.files.has(path) !== true) return;
      await thread.during(async () => {
        await thread.close(path);
        thread.files.delete(path);
        if (thread.files.size > 0) return;
        // A caller that enters from here on starts another thread.
        if (running === thread) running = null;
        await thread.end();
      });
    },
  };
}

function start<C extends Shapes>({ script, verb, onEvent }: FileThreadOptions): Started<C> {
  const worker = new Worker(script, { resourceLimits: threadLimits });
  // It keeps the process alive only during works that say so.
  worker.unref();
  let works = 0;
  const exited = once(worker, "exit").catch(() => undefined);
  const caller = createCaller<C>(worker, onEvent);
  const files = caller as unknown as ThreadCaller<FileCalls>;
  worker.on("error", (error) => caller.fail(toSeriesError(error, verb)));
  worker.on("exit", () => caller.fail(new StoreError("UNAVAILABLE", `cannot ${verb}: the thread has ended`)));
  return {
    files: new Set(),
    call: caller.call,
    failed: caller.failed,
    during: async (work) => {
      if (works++ === 0) worker.ref();
      try {
        return await work();
      } finally {
        if (--works === 0) worker.unref();
      }
    },
    close: async (path) => {
      await files.call("close", path).catch(() => undefined);
    },
    end: async () => {
      await files.call("end", null).catch(() => undefined);
      await exited;
    },
  };
}
