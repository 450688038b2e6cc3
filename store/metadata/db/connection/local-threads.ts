import { closedCode, type DatabaseConnection, type Found, SqlError } from "./connection.js";
import { type LocalThread, startLocalThread } from "./local-thread.js";
import { createReadQueue } from "./read-queue.js";
import { openShortReads } from "./short-reads.js";

/** One long read keeps nobody else waiting. */
const readersMax = 2;

/** Milliseconds that reads wait for a reader before another starts, which takes longer than most reads. */
const readerWaitMs = 5;

/**
 * A database file whose calls hold no thread but their own: one thread writes, others read what is committed. Resolves
 * once the file is open. @throws SqlError
 */
export async function openLocalThreads(path: string): Promise<DatabaseConnection> {
  let writer = startLocalThread(path);
  let readers: LocalThread[] = [];
  const queue = createReadQueue();
  const reading = new Set<Promise<unknown>>();
  let adding: NodeJS.Timeout | undefined;
  let closed = false;

  /** Hands what waits to readers that have nothing to do. */
  function handOut(): void {
    readers = readers.filter(({ ended }) => !ended);
    while (queue.isWaiting) {
      const idle = readers.find(({ ready, waiting }) => ready && waiting === 0);
      if (idle === undefined) return addReader();
      const read = queue.take();
      if (read === undefined) return;
      // A step that has ended lets the next one begin.
      void idle.read(read.statements).then(read.resolve, read.reject).then(handOut);
    }
  }

  /** One more takes part once it can, if what waits has not been taken until then. */
  function addReader(): void {
    if (readers.length === 0) startReader();
    adding ??= setTimeout(() => {
      adding = undefined;
      const areReady = readers.every(({ ready, ended }) => ready && !ended);
      if (queue.isWaiting && areReady && readers.length < readersMax) startReader();
    }, readerWaitMs).unref();
  }

  function startReader(): void {
    readers.push(
      startLocalThread(path, {
        onIdle: handOut,
        onEnd: (error, wasReady) => {
          // One that cannot even start would otherwise be followed by another without end.
          if (!wasReady && !readers.some(({ ready, ended }) => ready && !ended)) queue.take()?.reject(error);
          handOut();
        },
      }),
    );
  }

  function assertOpen(): void {
    if (closed) throw new SqlError("the file is closed", closedCode);
  }

  await writer.read([{ sql: "select 1", args: [] }]);
  const shortReads = openShortReads(path);
  return {
    readHere: shortReads.read,
    read: (statements, isStep = false) => {
      const read = new Promise<Found>((resolve, reject) => {
        assertOpen();
        queue.add({ statements, resolve, reject }, isStep);
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
      clearTimeout(adding);
      await Promise.all(readers.map((one) => one.close()));
      await writer.close();
      await shortReads.close();
    },
  };
}
