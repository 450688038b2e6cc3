import { parentPort, workerData } from "node:worker_threads";
import { serveCalls } from "./calls.js";
import type { ReaderCalls } from "./protocol.js";
import { createReader } from "./reader.js";

if (parentPort === null) throw new Error("series-reader.worker runs in a worker thread only");
serveCalls<ReaderCalls>(parentPort, createReader(workerData as { dir: string }));
