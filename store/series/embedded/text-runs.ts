/** The texts of a part, by bytes: a chunk of them may be long however few they are. */

import type { StoredTexts } from "./chunk-rows.js";
import { clipRun, mergeAll, noTimeAbove, noTimeBelow, type Run } from "./columns.js";

interface Loaded {
  readonly id: number;
  readonly run: Run;
}

/** Chunks with so many bytes together are fetched by one statement. */
const fetchBytesMax = 1 << 20;

/**
 * As runs that share no time, ascending, or from the newest run back. No more is held than what was fetched together
 * and what chunks that are still to come may say anew: where chunks overlap, the later id wins.
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
    // What lies beyond the first chunk to come is not said again.
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

/** The first alone: who wants only the newest point reads no more than that needs. */
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
