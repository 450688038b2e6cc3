import { type BoundStatement, type Connection, type Row, SqlError } from "./connection.js";
import { type LocalThread, startLocalThread } from "./local-thread.js";

/** One long read keeps nobody else waiting. */
const readersMax = 2;

interface Read {
  readonly statements: readonly BoundStatement[];
  resolve(rows: Row[][]): void;
  reject(error: unknown): void;
}

/**
 * A database file whose calls hold no thread but their own: one thread writes, others read what is committed. Resolves
 * once the file is open. @throws SqlError
 */
export async function openLocalThreads(path: string): Promise<Connection> {
  let writer = startLocalThread(path);
  let readers: LocalThread[] = [];
  const queue: Read[] = [];
  const reading = new Set<Promise<unknown>>();
  let closed = false;

  /** Hands what waits to readers that have nothing to do; if none has, one more starts, and takes part once it can. */
  function handOut(): void {
    readers = readers.filter(({ ended }) => !ended);
    while (queue.length > 0) {
      const idle = readers.find(({ ready, waiting }) => ready && waiting === 0);
      if (idle === undefined) {
        if (readers.length < readersMax && readers.every(({ ready }) => ready)) startReader();
        return;
      }
      const read = queue.shift();
      if (read !== undefined) idle.read(read.statements).then(read.resolve, read.reject);
    }
  }

  function startReader(): void {
    readers.push(
      startLocalThread(path, {
        onIdle: handOut,
        onEnd: (error) => {
          // One that cannot even start would otherwise be followed by another without end.
          queue.shift()?.reject(error);
          handOut();
        },
      }),
    );
  }

  function assertOpen(): void {
    if (closed) throw new SqlError("the file is closed", "SQLITE_MISUSE");
  }

  await writer.read([{ sql: "select 1", args: [] }]);
  return {
    read: (statements) => {
      const read = new Promise<Row[][]>((resolve, reject) => {
        assertOpen();
        queue.push({ statements, resolve, reject });
        handOut();
      });
      reading.add(read);
      const done = () => reading.delete(read);
      read.then(done, done);
      return read;
    },
    write: async (statements) => {
      assertOpen();
      if (writer.ended) writer = startLocalThread(path);
      return writer.write(statements);
    },
    close: async () => {
      closed = true;
      await Promise.allSettled(reading);
      await Promise.all(readers.map((one) => one.close()));
      // The last connection moves the write-ahead log into the file.
      await writer.close();
    },
  };
}
