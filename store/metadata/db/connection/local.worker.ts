/** A thread with a connection of its own to the metadata's file: reads, or all writes. */
import { parentPort, workerData } from "node:worker_threads";
import { asError } from "../../../lib/errors.js";
import { createThreadGate } from "../../../lib/thread-gate.js";
import { SqlError } from "./connection.js";
import { type LocalFile, openLocalFile } from "./local-file.js";
import type { Opened, ThreadAnswer, ThreadOptions, ThreadRequest } from "./local-thread.js";
import { encodeRows } from "./rows-text.js";

if (parentPort === null) throw new Error("local.worker runs in a worker thread only");
const port = parentPort;

const { path, gate: cells } = workerData as ThreadOptions;
const gate = createThreadGate(cells);

try {
  const file = await gate.within(async () => openLocalFile(path));
  port.on("message", (request: ThreadRequest | "close") => {
    // Once the gate is shut, the process is ending.
    void gate.within(async () => serve(file, request)).catch(() => undefined);
  });
  port.postMessage({ error: null } satisfies Opened);
} catch (error) {
  port.postMessage({ error: toFailure(error) } satisfies Opened);
  port.close();
}

function serve(file: LocalFile, request: ThreadRequest | "close"): void {
  if (request !== "close") return answer(file, request);
  try {
    file.close();
  } finally {
    // Nothing is left that would keep the thread alive: ending it from outside could meet a call of libSQL.
    port.close();
  }
}

function answer(file: LocalFile, request: ThreadRequest): void {
  const began = performance.now();
  const took = () => performance.now() - began;
  try {
    if (request.kind === "read") {
      const read = file.read(request.statements).map(encodeRows);
      return reply({ id: request.id, error: null, read, ms: took(), written: [] });
    }
    const written = file.write(request.statements).map(({ rowsAffected, lastInsertRowid, ...set }) => ({
      rowsAffected,
      lastInsertRowid,
      rows: encodeRows(set),
    }));
    reply({ id: request.id, error: null, read: [], ms: took(), written });
  } catch (error) {
    reply({ id: request.id, error: toFailure(error), read: [], ms: took(), written: [] });
  }
}

const reply = (message: ThreadAnswer): void => port.postMessage(message);

function toFailure(error: unknown) {
  return { message: asError(error).message, code: error instanceof SqlError ? error.code : null };
}
