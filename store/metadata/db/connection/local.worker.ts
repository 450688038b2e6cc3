/** A thread with a connection of its own to the metadata's file: reads, or all writes. */
import { parentPort, workerData } from "node:worker_threads";
import { asError } from "../../../lib/errors.js";
import { SqlError } from "./connection.js";
import { type LocalFile, openLocalFile } from "./local-file.js";
import type { Answer, Asked, Opened, ThreadOptions, WriteText } from "./local-thread.js";
import { blobsOf, encodeRows, type RowsText } from "./rows-text.js";

if (parentPort === null) throw new Error("local.worker runs in a worker thread only");
const port = parentPort;

try {
  const file = openLocalFile((workerData as ThreadOptions).path);
  port.on("message", (asked: Asked | "close") => {
    if (asked !== "close") return answer(file, asked);
    file.close();
    // Nothing is left that would keep the thread alive: ending it from outside could meet a call of libSQL.
    port.close();
  });
  port.postMessage({ error: null } satisfies Opened);
} catch (error) {
  port.postMessage({ error: failureOf(error) } satisfies Opened);
  port.close();
}

function answer(file: LocalFile, asked: Asked): void {
  try {
    if (asked.kind === "read") {
      const read: RowsText[] = file.read(asked.statements).map(encodeRows);
      return reply({ id: asked.id, error: null, read, written: [] }, read.flatMap(blobsOf));
    }
    const written: WriteText[] = file
      .write(asked.statements)
      .map(({ rowsAffected, lastInsertRowid, ...set }) => ({
        rowsAffected,
        lastInsertRowid,
        rows: encodeRows(set),
      }));
    reply(
      { id: asked.id, error: null, read: [], written },
      written.flatMap(({ rows }) => blobsOf(rows)),
    );
  } catch (error) {
    reply({ id: asked.id, error: failureOf(error), read: [], written: [] }, []);
  }
}

function reply(message: Answer, blobs: readonly ArrayBuffer[]): void {
  port.postMessage(message, blobs);
}

function failureOf(error: unknown) {
  return { message: asError(error).message, code: error instanceof SqlError ? error.code : null };
}
