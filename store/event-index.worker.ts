import { parentPort, workerData } from "node:worker_threads";
import { forgetSegment, indexedSegments, openEventIndexFile, storeSegmentIndex } from "./event-index.js";
import { createSegmentIndex } from "./event-postings.js";
import { peekRecord } from "./journal-record.js";
import { type Segment, scanSegment } from "./journal-segment.js";

/** Indexes closed segments off the main thread. Asked one thing at a time; answers each. */
export type IndexRequest =
  | { readonly kind: "index"; readonly segment: Segment; readonly endID: number }
  | { readonly kind: "forget"; readonly firstID: number }
  | { readonly kind: "close" };

const client = await openEventIndexFile((workerData as { path: string }).path);

async function handle(request: IndexRequest): Promise<void> {
  if (request.kind === "forget") return forgetSegment(client, request.firstID);
  if (request.kind === "close") {
    client.close();
    // The answer leaves first.
    setImmediate(() => parentPort?.close());
    return;
  }
  const { segment, endID } = request;
  const known = await indexedSegments(client);
  if (known.includes(segment.firstID)) return;
  const index = createSegmentIndex();
  await scanSegment(segment, 0, (buffer, at, _size, position) => {
    const record = peekRecord(buffer, at);
    if (record.id < endID) index.add(position, record.kind, record.device, record.tenant);
  });
  await storeSegmentIndex(client, segment.firstID, index);
}

parentPort?.on("message", (request: IndexRequest) => {
  handle(request).then(
    () => parentPort?.postMessage({ error: null }),
    (error: unknown) => parentPort?.postMessage({ error: String(error) }),
  );
});
parentPort?.postMessage({ error: null });
