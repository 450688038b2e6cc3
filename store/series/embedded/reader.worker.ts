import { parentPort, workerData } from "node:worker_threads";
import { serveCalls } from "./calls.js";
import type { ReaderCalls, ReaderEvent } from "./protocol.js";
import { createReader } from "./reader.js";

if (parentPort === null) throw new Error("series-reader.worker runs in a worker thread only");
const port = parentPort;
const postEvent = (event: ReaderEvent): void => port.postMessage(event);

serveCalls<ReaderCalls>(
  port,
  createReader({
    ...(workerData as { dir: string; filesMax: number }),
    onFault: ({ path }, chunk, fault) => postEvent({ event: "fault", path, chunk, fault }),
  }),
);
