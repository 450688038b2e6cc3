import { Worker } from "node:worker_threads";
import { asError } from "../../../store/lib/errors.js";
import { threadLimits } from "../../../store/lib/thread-limits.js";
import type { Db } from "../../../store/metadata/db/db.js";
import { createThreadGate, gateCells } from "../../../store/metadata/db/thread-gate.js";
import type { DiskClaim } from "../../http/disk-space.js";
import { ApiError } from "../../http/errors.js";
import { JobFailure, type TransferJob } from "./transfer-job.js";

/** Where a worker finds the metadata. */
interface DatabaseAddress {
  readonly url: string;
  readonly authToken?: string;
}

export interface WorkerStart {
  readonly job: TransferJob;
  readonly database: DatabaseAddress;
  readonly masterKey: Uint8Array;
  /** Not 0 once the service closes. */
  readonly stop: Int32Array;
  /** Of the thread's gate: it is not ended while it is in a call of libsql. */
  readonly gate: Int32Array<SharedArrayBuffer>;
}

export type FromWorker =
  | { readonly kind: "progress"; readonly current: number }
  /** Asks for its turn to write, and gives it back. */
  | { readonly kind: "ask" }
  | { readonly kind: "release" }
  /** Asks for room on the disk before it writes so many bytes. */
  | { readonly kind: "grow"; readonly bytes: number }
  | { readonly kind: "done"; readonly count: number }
  | { readonly kind: "refused"; readonly message: string; readonly listed: boolean }
  | { readonly kind: "failed"; readonly message: string };

/** What the thread is told when it has asked. */
export type ToWorker =
  | { readonly kind: "go" }
  /** `refused`: why there is no room; null: there is. */
  | { readonly kind: "room"; readonly refused: string | null };

interface TransferDeps {
  readonly db: Db;
  readonly database: DatabaseAddress;
  readonly masterKey: () => Promise<Uint8Array>;
}

interface TransferRun {
  /** For the file that it writes. */
  readonly room: DiskClaim;
  readonly signal: AbortSignal;
  progress(current: number): void;
}

/** What a transfer may take beside its files' buffers. */
const heapMegabytesMax = 192;
/** A thread that does not heed the stop for so long, in the middle of a file's gigabyte, is ended. */
const haltMs = 5000;
/** Between looks whether it is still in a call of the database. */
const shutRetryMs = 20;

/**
 * Runs a job in a thread with a connection of its own and answers how many devices it moved; the promise settles
 * when the thread has ended. @throws JobFailure, Error
 */
export async function runTransfer(
  { db, database, masterKey }: TransferDeps,
  job: TransferJob,
  { room, signal, progress }: TransferRun,
): Promise<number> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const cells = gateCells();
  const gate = createThreadGate(cells);
  const start: WorkerStart = { job, database, masterKey: await masterKey(), stop, gate: cells };
  signal.throwIfAborted();
  const worker = new Worker(new URL("./transfer.worker.js", import.meta.url), {
    workerData: start,
    resourceLimits: { ...threadLimits, maxOldGenerationSizeMb: heapMegabytesMax },
  });
  let turn: (() => void) | null = null;
  let late: NodeJS.Timeout | undefined;
  const halt = () => {
    Atomics.store(stop, 0, 1);
    late = setTimeout(end, haltMs);
  };
  const end = () => {
    // A write that has begun ends by itself.
    if (turn !== null) return;
    if (gate.shut()) void worker.terminate();
    else late = setTimeout(end, shutRetryMs);
  };
  signal.addEventListener("abort", halt, { once: true });
  const endTurn = () => {
    turn?.();
    turn = null;
  };
  let outcome: FromWorker | null = null;
  let over = false;

  const answer = (message: ToWorker) => worker.postMessage(message);

  let failure: Error | null = null;

  async function grow(bytes: number): Promise<void> {
    const refused = await room.grow(bytes).then(
      () => null,
      (error: unknown) => {
        // The thread ends by it in any case; what was not foreseen is told instead of its answer.
        if (!(error instanceof ApiError)) failure = asError(error);
        return asError(error).message;
      },
    );
    answer({ kind: "room", refused });
  }

  function grant(): Promise<void> {
    return db.exclusive(async () => {
      // A turn that comes after the thread's end would never be given back.
      if (over) return;
      const ended = new Promise<void>((resolve) => {
        turn = resolve;
      });
      answer({ kind: "go" });
      await ended;
    });
  }

  return new Promise<number>((resolve, reject) => {
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "progress") progress(message.current);
      else if (message.kind === "release") endTurn();
      else if (message.kind === "ask") grant().catch(reject);
      else if (message.kind === "grow") void grow(message.bytes);
      else outcome = message;
    });
    worker.once("error", (error) => {
      failure = error;
    });
    worker.once("exit", (code) => {
      over = true;
      clearTimeout(late);
      endTurn();
      signal.removeEventListener("abort", halt);
      room.settle();
      if (failure !== null && outcome?.kind === "refused") reject(failure);
      else if (outcome?.kind === "done") resolve(outcome.count);
      else if (outcome?.kind === "refused") reject(new JobFailure(outcome.message, outcome.listed));
      else if (outcome?.kind === "failed") reject(new Error(outcome.message));
      else reject(failure ?? new Error(`the transfer's thread ended with ${code}`));
    });
  });
}
