import { Worker } from "node:worker_threads";
import { asError } from "../../../lib/errors.js";
import { gateCells } from "../../../lib/thread-gate.js";
import { threadLimits } from "../../../lib/thread-limits.js";
import { type BoundStatement, type Found, SqlError, type WriteResult } from "./connection.js";
import { waitAtExit } from "./exit-gates.js";
import { decodeRows, type RowsText } from "./rows-text.js";

export interface ThreadOptions {
  readonly path: string;
  /** The cells of the gate that each call goes through. */
  readonly gate: Int32Array<SharedArrayBuffer>;
}

export interface ThreadRequest {
  readonly id: number;
  readonly kind: "read" | "write";
  readonly statements: readonly BoundStatement[];
}

interface Failure {
  readonly message: string;
  /** SQLite's error code; null for any other error. */
  readonly code: string | null;
}

/** The thread's first message. */
export interface Opened {
  readonly error: Failure | null;
}

interface WriteText extends Omit<WriteResult, "rows"> {
  readonly rows: RowsText;
}

export interface ThreadAnswer extends Opened {
  readonly id: number;
  readonly read: readonly RowsText[];
  /** How long the statements took in the thread. */
  readonly ms: number;
  readonly written: readonly WriteText[];
}

/** A thread with a connection of its own, as seen from the thread that asks it. */
export interface LocalThread {
  /** Calls without an answer. */
  readonly waiting: number;
  /** Whether it has opened the file. */
  readonly ready: boolean;
  /** Whether it has ended: every further call fails. */
  readonly ended: boolean;
  read(statements: readonly BoundStatement[]): Promise<Found>;
  write(statements: readonly BoundStatement[]): Promise<WriteResult[]>;
  /** Resolves once what was asked before is answered and the thread has ended. */
  close(): Promise<void>;
}

interface ThreadListeners {
  /** It has opened the file, or has answered all that it was asked. */
  readonly onIdle: () => void;
  /** It has ended other than by `close`; `wasReady`: after it had opened the file. */
  readonly onEnd: (error: Error, wasReady: boolean) => void;
}

/** Starts a thread; calls made before it has opened the file wait for that. */
export function startLocalThread(path: string, listeners?: ThreadListeners): LocalThread {
  const gate = gateCells();
  const giveUpGate = waitAtExit(gate);
  const worker = new Worker(new URL("./local.worker.js", import.meta.url), {
    workerData: { path, gate } satisfies ThreadOptions,
    resourceLimits: threadLimits,
  });
  const waiting = new Map<number, { resolve(answer: ThreadAnswer): void; reject(error: Error): void }>();
  let ids = 0;
  let ready = false;
  let closing = false;
  let ended: Error | null = null;

  function end(error: Error): void {
    if (ended !== null) return;
    ended = error;
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
    worker.unref();
    if (!closing) listeners?.onEnd(error, ready);
  }

  /** A thread with nothing to do does not keep the process. */
  function rest(): void {
    if (waiting.size > 0 || closing) return;
    worker.unref();
    listeners?.onIdle();
  }

  function ask(kind: ThreadRequest["kind"], statements: readonly BoundStatement[]): Promise<ThreadAnswer> {
    return new Promise((resolve, reject) => {
      if (ended !== null) return reject(ended);
      const id = ++ids;
      waiting.set(id, { resolve, reject });
      if (waiting.size === 1) worker.ref();
      worker.postMessage({ id, kind, statements } satisfies ThreadRequest);
    });
  }

  worker.on("message", (message: Opened | ThreadAnswer) => {
    if (!("id" in message)) {
      if (message.error !== null) return end(toError(message.error));
      ready = true;
      return rest();
    }
    const request = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error === null) request?.resolve(message);
    else request?.reject(toError(message.error));
    rest();
  });
  worker.on("error", (error) => end(gone(asError(error).message)));
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", (code) => {
      end(gone(`exit code ${code}`));
      giveUpGate();
      resolve();
    });
  });

  return {
    get waiting() {
      return waiting.size;
    },
    get ready() {
      return ready;
    },
    get ended() {
      return ended !== null;
    },
    read: async (statements) => {
      const { read, ms } = await ask("read", statements);
      return { rows: await Promise.all(read.map(decodeRows)), ms };
    },
    write: async (statements) => {
      const { written } = await ask("write", statements);
      return Promise.all(written.map(async (one) => ({ ...one, rows: await decodeRows(one.rows) })));
    },
    close: async () => {
      closing = true;
      worker.ref();
      worker.postMessage("close");
      await exited;
    },
  };
}

function toError({ message, code }: Failure): Error {
  return code === null ? new Error(message) : new SqlError(message, code);
}

/** Its code is that of a store that is away: the next call starts another thread. */
function gone(why: string): SqlError {
  return new SqlError(`the thread has ended: ${why}`, "SQLITE_IOERR");
}
