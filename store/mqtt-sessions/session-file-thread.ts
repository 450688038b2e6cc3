import { createFileThread, type FileCalls, type RunningThread } from "../file-threads/file-thread.js";
import { createSlice } from "../lib/scheduling.js";
import { type PackedStatement, pack } from "./packed-statement.js";
import type { SessionStatement } from "./statements.js";

export type SessionFileCalls = FileCalls & {
  /** Begins a transaction on the file of this path. */
  begin: { args: string; answer: null };
  /** A statement of the transaction; if it fails, the transaction ends. The answer returns the buffer of its blobs. */
  run: { args: { readonly path: string; readonly packed: PackedStatement }; answer: ArrayBuffer };
  /** Commits the statements run so far as the state at this journal id. */
  commit: { args: { readonly path: string; readonly journalID: number }; answer: null };
  rollback: { args: string; answer: null };
};

/** Writes the saved form of the sessions of one journal. */
interface SessionFileWriter {
  /**
   * Runs the statements in one transaction. Each is made in a turn of its own after the one before has run, so that no
   * more than one is on its way.
   * @throws StoreError CORRUPT, UNAVAILABLE, or what `statements` throws: then nothing is stored
   */
  save(statements: Iterable<SessionStatement>, journalID: number): Promise<void>;
  /** Resolves once the file is closed in the thread; the next save opens it again. */
  close(): Promise<void>;
}

/** The thread that writes the saved form of sessions, for any number of files. */
export interface SessionFileThread {
  writer(path: string): SessionFileWriter;
}

/**
 * Starts with the first save. Saves of several files go on side by side, a statement each; those under way when the
 * thread dies fail, and the next save has another.
 */
export function createSessionFileThread(): SessionFileThread {
  const thread = createFileThread<SessionFileCalls>({
    script: new URL("./session-file.worker.js", import.meta.url),
    verb: "save the sessions",
    onEvent: () => undefined,
  });
  return {
    writer: (path) => ({
      save: (statements, journalID) => {
        const running = thread.enter(path);
        return running.during(() => run(running, path, statements, journalID));
      },
      close: () => thread.leave(path),
    }),
  };
}

async function run(
  { call }: RunningThread<SessionFileCalls>,
  path: string,
  statements: Iterable<SessionStatement>,
  journalID: number,
): Promise<void> {
  await call("begin", path);
  // One buffer serves all statements: a copy for each would stay in both threads until collected.
  let buffer = new ArrayBuffer(0);
  const slice = createSlice();
  try {
    for (const statement of statements) {
      const packed = pack(statement, buffer);
      buffer = await call("run", { path, packed }, { transfer: [packed.room] });
      // Quick answers may all arrive in one turn, and without this their next statements would be made in it too.
      await slice.next();
    }
  } catch (error) {
    await call("rollback", path).catch(() => undefined);
    throw error;
  }
  await call("commit", { path, journalID });
}
