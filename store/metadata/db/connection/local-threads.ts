import { type Connection, SqlError } from "./connection.js";
import { type LocalThread, startLocalThread } from "./local-thread.js";

/** One long read keeps nobody else waiting. */
const readersMax = 2;

/**
 * A database file whose calls hold no thread but their own: one thread writes, others read what is committed. Resolves
 * once the file is open. @throws SqlError
 */
export async function openLocalThreads(path: string): Promise<Connection> {
  let writer = startLocalThread(path);
  let readers: LocalThread[] = [];
  let closed = false;

  /** An idle one, else one more, else the one with the fewest calls before this. */
  function reader(): LocalThread {
    readers = readers.filter(({ ended }) => !ended);
    const idle = readers.find(({ waiting }) => waiting === 0);
    if (idle !== undefined) return idle;
    if (readers.length < readersMax) {
      const started = startLocalThread(path);
      readers.push(started);
      return started;
    }
    return readers.reduce((least, one) => (one.waiting < least.waiting ? one : least));
  }

  function assertOpen(): void {
    if (closed) throw new SqlError("the file is closed", "SQLITE_MISUSE");
  }

  await writer.read([{ sql: "select 1", args: [] }]);
  return {
    read: async (statements) => {
      assertOpen();
      return reader().read(statements);
    },
    write: async (statements) => {
      assertOpen();
      if (writer.ended) writer = startLocalThread(path);
      return writer.write(statements);
    },
    close: async () => {
      closed = true;
      await Promise.all(readers.map((one) => one.close()));
      // The last connection moves the write-ahead log into the file.
      await writer.close();
    },
  };
}
