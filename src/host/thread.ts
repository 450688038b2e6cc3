/** Threads that do one kind of job each, within a bound on their memory. */
import { Worker } from "node:worker_threads";
import { threadLimits } from "../../store/lib/thread-limits.js";

interface JobThread<To> {
  send(message: To, transfer?: readonly ArrayBuffer[]): void;
  /** Resolves once the thread has ended. */
  terminate(): Promise<unknown>;
}

interface Job<From> {
  /** Its `workerData`. */
  readonly start: unknown;
  readonly heapMegabytesMax: number;
  onMessage(message: From): void;
  /** Called if the thread has thrown; its exit follows. */
  onError(error: Error): void;
  onExit(code: number): void;
}

export function startThread<From, To>(script: URL, job: Job<From>): JobThread<To> {
  const worker = new Worker(script, {
    workerData: job.start,
    resourceLimits: { ...threadLimits, maxOldGenerationSizeMb: job.heapMegabytesMax },
  });
  worker.on("message", job.onMessage);
  worker.once("error", job.onError);
  worker.once("exit", job.onExit);
  return {
    send: (message, transfer = []) => worker.postMessage(message, transfer),
    terminate: () => worker.terminate(),
  };
}
