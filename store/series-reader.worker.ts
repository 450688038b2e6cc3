import { parentPort, workerData } from "node:worker_threads";
import { serveCalls } from "./series-calls.js";
import type { ReaderCalls } from "./series-protocol.js";
import { createReader } from "./series-reader.js";

if (parentPort === null) throw new Error("series-reader.worker runs in a worker thread only");
serveCalls<ReaderCalls>(parentPort, createReader(workerData as { dir: string }));
