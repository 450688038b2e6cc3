/** Reads the texts of a part, a bounded number of bytes at once: a chunk of few texts may still be long. */

import type { StoredTexts } from "./chunk-rows.js";
import { clipRun, mergeAll, noTimeAbove, noTimeBelow, type Run } from "./columns.js";

interface Loaded {
  readonly id: number;
  readonly run: Run;
}

/** One statement fetches chunks of so many bytes in all. */
const fetchBytesMax = 1 << 20;

/**
 * The texts as runs that share no time, ascending, or from the newest run back. Held in memory are only the chunks
 * fetched together, and points that chunks still to come may replace: where chunks overlap, the later id wins.
 */
export async function* textRuns(
  chunks: readonly StoredTexts[],
  load: (chunks: readonly StoredTexts[]) => Promise<readonly Loaded[]>,
  newestFirst: boolean,
): AsyncGenerator<Run> {
  const inOrder = chunks.toSorted(newestFirst ? (a, b) => b.stop - a.stop : (a, b) => a.start - b.start);
  let open: Loaded[] = [];
  for (let at = 0; at < inOrder.length; ) {
    const batch = batchAt(inOrder, at);
    at += batch.length;
    open.push(...(await load(batch)));
    open.sort((a, b) => a.id - b.id);
    const next = inOrder[at];
    // No chunk to come replaces what lies on the other side of the next one.
    const [from, to] =
      next === undefined
        ? [noTimeBelow, noTimeAbove]
        : newestFirst
          ? [next.stop + 1, noTimeAbove]
          : [noTimeBelow, next.start];
    const run = mergeAll(
      open.map((one) => clipRun(one.run, from, to)),
      true,
    );
    open = open
      .map(({ id, run: all }) => ({
        id,
        run: newestFirst ? clipRun(all, noTimeBelow, from) : clipRun(all, to, noTimeAbove),
      }))
      .filter((one) => one.run.times.length > 0);
    if (run.times.length > 0) yield run;
  }
}

/** The first chunk comes alone, so that a query for the newest point reads no more than it needs. */
function batchAt(inOrder: readonly StoredTexts[], at: number): StoredTexts[] {
  const batch = inOrder.slice(at, at + 1);
  let bytes = at === 0 ? fetchBytesMax : (batch[0]?.bytes ?? 0);
  for (let i = at + 1; i < inOrder.length; i++) {
    const chunk = inOrder[i] as StoredTexts;
    bytes += chunk.bytes;
    if (bytes > fetchBytesMax) break;
    batch.push(chunk);
  }
  return batch;
}
