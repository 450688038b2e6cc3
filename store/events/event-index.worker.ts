import { parentPort } from "node:worker_threads";
import { createOpenClients } from "../file-threads/open-clients.js";
import { peekRecord } from "../journal/frame.js";
import { walkSegment } from "../journal/reader.js";
import { journalDamage } from "../journal/recover.js";
import { serveCalls } from "../series/embedded/calls.js";
import { toSeriesError } from "../series/embedded/failures.js";
import { forgetSegment, indexedSegments, openEventIndexFile, storeSegmentIndex } from "./event-index.js";
import { createSegmentIndex } from "./event-postings.js";
import type { IndexCalls, IndexEvent, IndexRequest } from "./index-calls.js";

/** Indexes closed segments off the main thread, in one file for each journal. */
if (parentPort === null) throw new Error("event-index.worker runs in a worker thread only");
const port = parentPort;
const clients = createOpenClients(port, openEventIndexFile);

async function handle(path: string, request: IndexRequest): Promise<void> {
  const client = await clients.of(path);
  if (request.kind === "forget") return forgetSegment(client, request.firstID);
  const { segment, endID, afterID } = request;
  if (request.kind === "index" && (await indexedSegments(client)).has(segment.firstID)) return;
  const index = createSegmentIndex();
  const walk = await walkSegment(
    segment,
    endID,
    (damage) => port.postMessage({ path, damage: journalDamage(segment, damage) } satisfies IndexEvent),
    (buffer, at, position) => index.add(position, peekRecord(buffer, at)),
  );
  walk.end(afterID);
  if (request.kind === "index") await storeSegmentIndex(client, segment, index);
}

serveCalls<IndexCalls>(port, {
  ...clients.handlers,
  request: async ({ path, request }) => {
    try {
      await handle(path, request);
      return null;
    } catch (error) {
      throw toSeriesError(error, "index segments");
    }
  },
});
