import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../../store/lib/clock.js";
import { createThreadGate } from "../../../store/lib/thread-gate.js";
import { openDb } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import { exportDevices } from "./export-devices.js";
import { importDevices } from "./import-devices.js";
import type { FromWorker, ToWorker, WorkerStart } from "./run-transfer.js";
import { JobFailure, type TransferContext } from "./transfer-job.js";

/** One transfer in its own thread, because it parses, checks, seals and compresses for seconds. */

const { job, database, masterKey, stop, gate: cells } = workerData as WorkerStart;
const gate = createThreadGate(cells);
const post = (message: FromWorker) => parentPort?.postMessage(message);
const stopped = () => Atomics.load(stop, 0) !== 0;

/** The next answer; the thread makes one request at a time. */
const answer = () => new Promise<ToWorker>((resolve) => parentPort?.once("message", resolve));

const db = await gate.within(() => openDb({ ...database, shared: true, migrates: false, gate }));
let reached = -1;
const context: TransferContext = {
  store: { db, vault: createVault(masterKey) },
  local: database.url.startsWith("file:"),
  now: systemClock.now,
  progress: (current) => {
    const whole = Math.floor(current);
    if (whole <= reached) return;
    reached = whole;
    post({ kind: "progress", current: whole });
  },
  room: {
    grow: async (bytes) => {
      const result = answer();
      post({ kind: "grow", bytes });
      const found = await result;
      if (found.kind === "room" && found.refused !== null) throw new JobFailure(found.refused, false);
    },
    // By the service, when the thread has ended.
    settle: () => undefined,
  },
  checkStop: () => {
    if (stopped()) throw new Error("the service is closing");
  },
  exclusive: async (action) => {
    const granted = answer();
    post({ kind: "ask" });
    await granted;
    try {
      context.checkStop();
      return await action();
    } finally {
      post({ kind: "release" });
    }
  },
};

try {
  const outcome =
    job.kind === "export" ? await exportDevices(job, context) : await importDevices(job, context);
  post({ kind: "done", outcome });
} catch (error) {
  if (error instanceof JobFailure) post({ kind: "refused", message: error.message, listed: error.listed });
  else
    post({
      kind: "failed",
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
} finally {
  await gate.within(async () => db.close()).catch(() => undefined);
  parentPort?.close();
}
