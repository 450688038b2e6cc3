import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { StoreError } from "../lib/errors.js";
import { threadLimits } from "../lib/thread-limits.js";
import { createSlice } from "../lib/turns.js";
import { createCaller } from "../series/embedded/calls.js";
import { asStoreError } from "../series/embedded/failures.js";
import { type PackedStatement, pack } from "./packed-statement.js";
import type { BoundStatement } from "./statements.js";

export type SessionFileCalls = {
  begin: { args: null; answer: null };
  /** A statement of the transaction; if it fails, the transaction ends. The answer gives back the room of its blobs. */
  run: { args: PackedStatement; answer: ArrayBuffer };
  /** Commits the statements run so far as the state at this journal id. */
  commit: { args: number; answer: null };
  rollback: { args: null; answer: null };
  /** Answered once the file is closed; the thread then ends itself. */
  close: { args: null; answer: null };
};

/** The thread that writes the saved form of the sessions. */
export interface SessionFileThread {
  /**
   * Runs the statements in one transaction. Each is made in a turn of its own after the one before has run, so that no
   * more than one is on its way.
   * @throws StoreError CORRUPT, UNAVAILABLE, or what `statements` throws: then nothing is stored
   */
  save(statements: Iterable<BoundStatement>, journalID: number): Promise<void>;
  /** Whether the thread has died: it takes no more requests. */
  failed(): boolean;
  /** Resolves once the file is closed. */
  close(): Promise<void>;
}

export function startSessionFileThread(path: string): SessionFileThread {
  const worker = new Worker(new URL("./session-file.worker.js", import.meta.url), {
    workerData: { path },
    resourceLimits: threadLimits,
  });
  // The thread keeps the process alive only during a save.
  worker.unref();
  const exited = once(worker, "exit").catch(() => undefined);
  const caller = createCaller<SessionFileCalls>(worker, () => undefined);
  const fail = (error: unknown): void => caller.fail(asStoreError(error, "save the sessions"));
  worker.on("error", fail);
  worker.on("exit", () =>
    fail(new StoreError("UNAVAILABLE", "cannot save the sessions: their thread has ended")),
  );

  async function referenced(work: () => Promise<void>): Promise<void> {
    worker.ref();
    try {
      await work();
    } finally {
      worker.unref();
    }
  }

  async function run(statements: Iterable<BoundStatement>, journalID: number): Promise<void> {
    await caller.call("begin", null);
    // One buffer serves all statements: a copy for each would stay in both threads until collected.
    let room = new ArrayBuffer(0);
    const slice = createSlice();
    try {
      for (const statement of statements) {
        const packed = pack(statement, room);
        room = await caller.call("run", packed, { transfer: [packed.room] });
        // Quick answers may all arrive in one turn, and without this their next statements would be made in it too.
        await slice.next();
      }
    } catch (error) {
      await caller.call("rollback", null).catch(() => undefined);
      throw error;
    }
    await caller.call("commit", journalID);
  }

  return {
    save: (statements, journalID) => referenced(() => run(statements, journalID)),
    failed: caller.failed,
    close: () =>
      referenced(async () => {
        await caller.call("close", null).catch(() => undefined);
        await exited;
      }),
  };
}
