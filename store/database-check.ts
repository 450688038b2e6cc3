import { Worker } from "node:worker_threads";
import type { CheckAnswer } from "./database-check.worker.js";
import { threadLimits } from "./thread-limits.js";

/**
 * Checks databases that are in use (`quick_check`), in a thread of their own; `onFault` is told of each that is
 * damaged. Resolves at the end; `signal` ends it before.
 */
export function checkDatabases(
  paths: readonly string[],
  onFault: (answer: CheckAnswer) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./database-check.worker.js", import.meta.url), {
      workerData: { paths },
      resourceLimits: threadLimits,
    });
    worker.unref();
    const end = (): void => void worker.terminate();
    signal.addEventListener("abort", end, { once: true });
    worker.on("message", onFault);
    worker.on("error", reject);
    worker.on("exit", () => {
      signal.removeEventListener("abort", end);
      resolve();
    });
  });
}
