import { Worker } from "node:worker_threads";
import { asError, StoreError } from "../../../store/lib/errors.js";
import { threadLimits } from "../../../store/lib/thread-limits.js";
import type { Db } from "../../../store/metadata/db/db.js";
import type { FromTrial, ToTrial, TrialStart } from "./trial-messages.js";

/** The outcome of a trial: the record is harmless, or why it ended the thread, or why there was no trial. */
export type Verdict =
  | { readonly is: "harmless" }
  | { readonly is: "ended"; readonly reason: string }
  | { readonly is: "not tried"; readonly reason: string };

export interface TrialLimits {
  /** The heap of the thread's own objects. */
  readonly heapMegabytesMax: number;
  /** The time for the record; the time that it waits for the metadata does not count. */
  readonly timeMaxMs: number;
}

/** The time for the thread's start. */
const beginMs = 60_000;

/** Far more than any message needs, and little compared with what a service has. */
const usual: TrialLimits = { heapMegabytesMax: 192, timeMaxMs: 60_000 };

/**
 * Processes one record in a thread with limits of its own. The thread's reads of the metadata are done here.
 */
export function runTrial(
  db: Pick<Db, "all">,
  start: TrialStart,
  { heapMegabytesMax, timeMaxMs }: TrialLimits = usual,
): Promise<Verdict> {
  const worker = new Worker(new URL("./trial.worker.js", import.meta.url), {
    workerData: start,
    resourceLimits: { ...threadLimits, maxOldGenerationSizeMb: heapMegabytesMax },
  });
  return new Promise((resolve) => {
    let begun = false;
    let reading = 0;
    let timer: NodeJS.Timeout | undefined;
    const end = (verdict: Verdict): void => {
      clearTimeout(timer);
      resolve(verdict);
      void worker.terminate();
    };
    /** A thread that ends before it has begun says nothing about the record. */
    const ended = (reason: string): void => end({ is: begun ? "ended" : "not tried", reason });
    const limitTime = (): void => {
      clearTimeout(timer);
      if (reading > 0) return;
      const mostMs = begun ? timeMaxMs : beginMs;
      timer = setTimeout(() => ended(`it took longer than ${mostMs} ms`), mostMs);
    };
    async function answer({ call, sql, args }: Extract<FromTrial, { readonly kind: "read" }>): Promise<void> {
      reading++;
      limitTime();
      const reply = await db.all(sql, args).then(
        (rows): ToTrial => ({ call, rows: rows.map((row) => ({ ...(row as object) })) }),
        (error: unknown): ToTrial => ({
          call,
          code: error instanceof StoreError ? error.code : null,
          message: asError(error).message,
        }),
      );
      reading--;
      limitTime();
      worker.postMessage(reply);
    }
    worker.on("message", (message: FromTrial) => {
      if (message.kind === "done") end({ is: "harmless" });
      else if (message.kind === "read") void answer(message);
      else {
        begun = true;
        limitTime();
      }
    });
    worker.on("error", (error: Error & { readonly code?: string }) => {
      const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      ended(isMemory ? `it needs more than ${heapMegabytesMax} MiB of memory` : asError(error).message);
    });
    worker.on("exit", (code) => ended(`the thread ended with ${code}`));
    limitTime();
  });
}
