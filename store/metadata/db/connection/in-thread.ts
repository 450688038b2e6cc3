import type { DatabaseConnection, DatabaseRow } from "./connection.js";
import { type Executed, openLocalFile, type RowSet } from "./local-file.js";
import { rowMaker } from "./rows-text.js";

/** A database file whose calls hold the thread that makes them, for threads that do nothing else. @throws SqlError */
export function openInThread(path: string): DatabaseConnection {
  const file = openLocalFile(path);
  return {
    read: async (statements) => {
      const began = performance.now();
      const rows = file.read(statements).map(toRows);
      return { rows, ms: performance.now() - began };
    },
    write: async (statements) =>
      file.write(statements).map(({ rowsAffected, lastInsertRowid, ...set }: Executed) => ({
        rowsAffected,
        lastInsertRowid,
        rows: toRows(set),
      })),
    close: async () => file.close(),
  };
}

/** Rows by column, blobs as ArrayBuffers. */
export function toRows({ columns, rows }: RowSet): DatabaseRow[] {
  const toRow = rowMaker(columns);
  return rows.map((values) =>
    toRow(values.map((value) => (value instanceof Uint8Array ? new Uint8Array(value).buffer : value))),
  );
}
