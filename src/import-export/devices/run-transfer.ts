import { asError } from "../../../store/lib/errors.js";
import { createThreadGate, gateCells } from "../../../store/lib/thread-gate.js";
import type { Db } from "../../../store/metadata/db/db.js";
import { startThread } from "../../host/thread.js";
import type { DiskClaim } from "../../http/disk-space.js";
import { ApiError } from "../../http/errors.js";
import { JobFailure, type TransferJob, type TransferOutcome } from "./transfer-job.js";

/** The address at which a worker opens the metadata. */
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
  /** The cells of the thread's gate: the thread is not ended during a call of libsql. */
  readonly gate: Int32Array<SharedArrayBuffer>;
}

export type FromWorker =
  | { readonly kind: "progress"; readonly current: number }
  /** Asks for a turn to write, and gives it back. */
  | { readonly kind: "ask" }
  | { readonly kind: "release" }
  /** Asks for space on the disk before it writes so many bytes. */
  | { readonly kind: "grow"; readonly bytes: number }
  | { readonly kind: "done"; readonly outcome: TransferOutcome }
  | { readonly kind: "refused"; readonly message: string; readonly listed: boolean }
  | { readonly kind: "failed"; readonly message: string };

/** The service's answers to the thread's requests. */
export type ToWorker =
  | { readonly kind: "go" }
  /** `refused`: why there is no space, or null if there is. */
  | { readonly kind: "room"; readonly refused: string | null };

interface TransferDeps {
  readonly db: Db;
  readonly database: DatabaseAddress;
  readonly masterKey: () => Promise<Uint8Array>;
}

interface TransferRun {
  /** The disk space of the file that it writes. */
  readonly room: DiskClaim;
  readonly signal: AbortSignal;
  progress(current: number): void;
}

/** Memory that a transfer may take besides its files' buffers. */
const heapMegabytesMax = 192;
/** A thread that ignores the stop for this long, in the middle of a gigabyte, is terminated. */
const haltMs = 5000;
/** How often it is checked whether the thread is still in a call of the database. */
const shutRetryMs = 20;

/**
 * Runs a job in a thread with its own connection and returns what it has done; the promise settles
 * when the thread has ended. @throws JobFailure, Error
 */
export async function runTransfer(
  { db, database, masterKey }: TransferDeps,
  job: TransferJob,
  { room, signal, progress }: TransferRun,
): Promise<TransferOutcome> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const cells = gateCells();
  const gate = createThreadGate(cells);
  const start: WorkerStart = { job, database, masterKey: await masterKey(), stop, gate: cells };
  signal.throwIfAborted();
  let late: NodeJS.Timeout | undefined;
  let last: FromWorker | null = null;
  let failure: Error | null = null;
  const writeLock = createWriteLock(db, () => thread.send({ kind: "go" }));

  const halt = (): void => {
    Atomics.store(stop, 0, 1);
    late = setTimeout(end, haltMs);
  };
  const end = (): void => {
    // A write that has begun runs to its own end.
    if (writeLock.isHeld()) return;
    if (gate.shut()) void thread.terminate();
    else late = setTimeout(end, shutRetryMs);
  };
  async function grow(bytes: number): Promise<void> {
    const refused = await room.grow(bytes).then(
      () => null,
      (error: unknown) => {
        // The thread ends after this in any case; an unforeseen error is reported instead of its answer.
        if (!(error instanceof ApiError)) failure = asError(error);
        return asError(error).message;
      },
    );
    thread.send({ kind: "room", refused });
  }

  let failed: (error: unknown) => void = () => undefined;
  let exited: (code: number) => void = () => undefined;
  const exit = new Promise<number>((resolve, reject) => {
    exited = resolve;
    failed = reject;
  });
  const thread = startThread<FromWorker, ToWorker>(new URL("./transfer.worker.js", import.meta.url), {
    start,
    heapMegabytesMax,
    onMessage: (message) => {
      if (message.kind === "progress") progress(message.current);
      else if (message.kind === "release") writeLock.release();
      else if (message.kind === "ask") writeLock.ask().catch(failed);
      else if (message.kind === "grow") void grow(message.bytes);
      else last = message;
    },
    onError: (error) => {
      failure = error;
    },
    onExit: (code) => {
      clearTimeout(late);
      writeLock.close();
      signal.removeEventListener("abort", halt);
      room.settle();
      exited(code);
    },
  });
  signal.addEventListener("abort", halt, { once: true });
  const code = await exit;
  return toOutcome(last, failure, code);
}

/** @throws JobFailure, Error if the thread did not finish */
function toOutcome(last: FromWorker | null, failure: Error | null, code: number): TransferOutcome {
  if (last?.kind === "done") return last.outcome;
  if (last?.kind === "refused") throw failure ?? new JobFailure(last.message, last.listed);
  if (last?.kind === "failed") throw new Error(last.message);
  throw failure ?? new Error(`the transfer's thread ended with ${code}`);
}

/** The thread's turns to write to the metadata: it asks for one, gets `go`, and gives it back. */
function createWriteLock(db: Pick<Db, "exclusive">, go: () => void) {
  let giveBack: (() => void) | null = null;
  let over = false;
  const release = (): void => {
    giveBack?.();
    giveBack = null;
  };
  return {
    isHeld: () => giveBack !== null,
    ask: () =>
      db.exclusive(async () => {
        // A turn that comes after the thread's end would never be given back.
        if (over) return;
        const ended = new Promise<void>((resolve) => {
          giveBack = resolve;
        });
        go();
        await ended;
      }),
    release,
    close: () => {
      over = true;
      release();
    },
  };
}
