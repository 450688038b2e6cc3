import { parentPort, workerData } from "node:worker_threads";
import { zone } from "../../../query/zone.js";

parentPort?.postMessage(zone(String(workerData)).offsetAt(0));
