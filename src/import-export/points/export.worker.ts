import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { createGzip } from "node:zlib";
import type { ExportPiece, ExportPlan, FromExport, ToExport } from "./export-messages.js";
import { writeRows } from "./write-rows.js";

/** Writes the rows of one export in a thread of its own. */

const plan = workerData as ExportPlan;
const port = parentPort;
if (port === null) throw new Error("export.worker runs in a worker thread only");

/** The most chunks sent and not yet taken. */
const chunksMax = 4;
/** Hardly slower than the fastest level, with files a tenth smaller. */
const gzipLevel = 3;

const post = (message: FromExport, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);
const pulls = new Map<number, (piece: ExportPiece | null) => void>();
let untaken = 0;
let wake: () => void = () => undefined;

port.on("message", (message: ToExport) => {
  if (message.kind === "piece") {
    const resolve = pulls.get(message.series);
    pulls.delete(message.series);
    resolve?.(message.piece);
  } else {
    untaken--;
    wake();
  }
});

const pull = (series: number): Promise<ExportPiece | null> =>
  new Promise((resolve) => {
    pulls.set(series, resolve);
    post({ kind: "pull", series });
  });

async function send(bytes: Uint8Array): Promise<void> {
  // The chunk needs a buffer of its own: small ones share theirs with others.
  const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  post({ kind: "chunk", bytes: own }, [own.buffer as ArrayBuffer]);
  untaken++;
  while (untaken >= chunksMax) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

async function sendPlain(): Promise<void> {
  for await (const text of writeRows(plan, pull)) await send(Buffer.from(text));
}

async function sendPacked(): Promise<void> {
  const gzip = createGzip({ level: gzipLevel });
  const sending = (async () => {
    for await (const bytes of gzip) await send(bytes as Uint8Array);
  })();
  for await (const text of writeRows(plan, pull)) {
    if (!gzip.write(text)) await Promise.race([once(gzip, "drain"), sending]);
  }
  gzip.end();
  await sending;
}

try {
  await (plan.gzip ? sendPacked() : sendPlain());
  post({ kind: "end" });
} catch (error) {
  post({ kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
} finally {
  port.close();
}
