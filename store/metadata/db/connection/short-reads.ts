import { closeAtOnce } from "../../../files/closing.js";
import { type BoundStatement, type DatabaseRow, SqlError } from "./connection.js";
import { toRows } from "./in-thread.js";
import { type LocalFile, openLocalFile } from "./local-file.js";

/** Reads of a few rows that an index finds, in the calling thread: they take less time than to ask another does. */
interface ShortReads {
  /** Null if they might hold the thread now: another is to be asked. @throws SqlError */
  read(statements: readonly BoundStatement[]): DatabaseRow[][] | null;
  /** For the last connection: moves the write-ahead log into the file. */
  close(): Promise<void>;
}

/** A read that holds the thread for longer than these milliseconds is slow: its pages come from the disk. */
const slowMs = 3;
/** After a slow one, others read for this many times what it took: slow reads hold the thread for a fiftieth. */
const restFactor = 50;

/** The file is opened by the first read. @param now monotonic milliseconds */
export function openShortReads(path: string, now = (): number => performance.now()): ShortReads {
  let file: LocalFile | null = null;
  let restsUntil = 0;
  let isClosed = false;
  return {
    read: (statements) => {
      let began = now();
      if (isClosed || began < restsUntil) return null;
      try {
        if (file === null) {
          // This thread must not wait for a lock: on one, the read returns null.
          file = openLocalFile(path, 0);
          began = now();
        }
        return file.read(statements).map(toRows);
      } catch (error) {
        if (error instanceof SqlError && error.code === "SQLITE_BUSY") return null;
        throw error;
      } finally {
        const tookMs = now() - began;
        if (tookMs > slowMs) restsUntil = began + tookMs * (1 + restFactor);
      }
    },
    close: async () => {
      isClosed = true;
      if (file !== null) await closeAtOnce(file, path);
    },
  };
}
