import { parentPort, workerData } from "node:worker_threads";
import { isDamage } from "../files/database-faults.js";
import { peekRecord } from "../journal/frame.js";
import { walkSegment } from "../journal/reader.js";
import { journalDamage } from "../journal/recover.js";
import type { Segment } from "../journal/segment.js";
import { forgetSegment, indexedSegments, openEventIndexFile, storeSegmentIndex } from "./event-index.js";
import { createSegmentIndex } from "./event-postings.js";

/** Indexes closed segments off the main thread. Takes one request at a time and answers each. */
export type IndexRequest =
  | {
      /** `look`: only checks whether the segment is what was written. */
      readonly kind: "index" | "look";
      readonly segment: Segment;
      /** First id of the next segment, and the last id before it. */
      readonly endID: number;
      readonly afterID: number;
    }
  | { readonly kind: "forget"; readonly firstID: number }
  | { readonly kind: "close" };

const client = await openEventIndexFile((workerData as { path: string }).path);

async function handle(request: IndexRequest): Promise<void> {
  if (request.kind === "forget") return forgetSegment(client, request.firstID);
  if (request.kind === "close") {
    client.close();
    // The answer must leave first.
    setImmediate(() => parentPort?.close());
    return;
  }
  const { segment, endID, afterID } = request;
  if (request.kind === "index" && (await indexedSegments(client)).has(segment.firstID)) return;
  const index = createSegmentIndex();
  const walk = await walkSegment(
    segment,
    endID,
    (damage) => parentPort?.postMessage({ damage: journalDamage(segment, damage) }),
    (buffer, at, position) => index.add(position, peekRecord(buffer, at)),
  );
  walk.end(afterID);
  if (request.kind === "index") await storeSegmentIndex(client, segment, index);
}

parentPort?.on("message", (request: IndexRequest) => {
  handle(request).then(
    () => parentPort?.postMessage({ error: null, damaged: false }),
    (error: unknown) => parentPort?.postMessage({ error: String(error), damaged: isDamage(error) }),
  );
});
parentPort?.postMessage({ error: null, damaged: false });
