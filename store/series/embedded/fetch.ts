/** The points of a series in files, merged with those in memory. */

import { isDamage } from "../../files/database-faults.js";
import { asError } from "../../lib/errors.js";
import { textsBytes } from "../../lib/text-bytes.js";
import { type CancelFlag, throwIfCancelled } from "./cancellation.js";
import type { CatalogPart } from "./catalog-schema.js";
import { listChunks, listTexts, loadChunks, type StoredChunk, type Verifying } from "./chunk-rows.js";
import { overlapGroups } from "./chunks.js";
import {
  clipRun,
  concatRuns,
  emptyRun,
  firstTime,
  lastTime,
  limitRun,
  mergeAll,
  mergeKnown,
  mergeRuns,
  noTimeAbove,
  noTimeBelow,
  ownRun,
  type ReadLimits,
  type Run,
} from "./columns.js";
import type { SeriesInFiles } from "./protocol.js";
import type { ReaderFiles } from "./reader-files.js";
import { textRuns } from "./text-runs.js";

/** The stretch of a series that is read from files. */
interface FileRange {
  readonly id: number;
  readonly text: boolean;
  /** Ascending. */
  readonly parts: readonly CatalogPart[];
  readonly start: number;
  readonly stop: number;
  readonly left: CancelFlag | null;
}

/** The range [start, stop) without the points that are being removed. */
export const rangeInFiles = (
  { id, text, parts, left, floor }: SeriesInFiles,
  start = noTimeBelow,
  stop = noTimeAbove,
): FileRange => ({ id, text, parts, left, start: Math.max(start, floor), stop });

/** One statement fetches chunks of so many points in all. */
const fetchPointsMax = 64 << 10;

/**
 * A series' points in files as runs that share no time, ascending, or from the newest run back; within a run points
 * always ascend. Only what the consumer asks for is read.
 */
async function* fetchRuns(files: ReaderFiles, range: FileRange, newestFirst: boolean): AsyncGenerator<Run> {
  const { parts } = range;
  for (const part of newestFirst ? parts.toReversed() : parts) {
    try {
      yield* runsOf(files, part, range, newestFirst);
    } catch (error) {
      // A part that is damaged does not hide the others.
      if (!isDamage(error)) throw error;
      files.onFault(part, null, asError(error).message);
    }
  }
}

async function* runsOf(
  { open, onFault, verified }: ReaderFiles,
  part: CatalogPart,
  { id, text, start, stop, left }: FileRange,
  newestFirst: boolean,
): AsyncGenerator<Run> {
  throwIfCancelled(left);
  const db = await open(part);
  const verifying: Verifying = {
    onFault: (fault) => onFault(part, fault, fault.fault),
    verified: verified?.(part),
  };
  if (text) {
    const load = async (chunks: readonly StoredChunk[]) => {
      throwIfCancelled(left);
      const loaded = await loadChunks(db, id, chunks, text, verifying);
      return loaded.map((chunk) => ({ id: chunk.id, run: clipRun(chunk.run, start, stop) }));
    };
    return yield* textRuns(await listTexts(db, id, { start, stop }), load, newestFirst);
  }
  const groups = overlapGroups(await listChunks(db, id, { start, stop }));
  if (newestFirst) groups.reverse();
  for (const batch of batches(groups)) {
    throwIfCancelled(left);
    const loaded = await loadChunks(db, id, batch.flat(), text, verifying);
    const runs = new Map(loaded.map((chunk) => [chunk.id, chunk.run]));
    for (const group of batch) {
      const inIdOrder = group.toSorted((a, b) => a.id - b.id);
      const merged = mergeAll(
        inIdOrder.map((chunk) => runs.get(chunk.id) ?? emptyRun(text)),
        text,
      );
      const run = clipRun(merged, start, stop);
      if (run.times.length > 0) yield run;
    }
  }
}

/** Whole groups; the first one alone, so that a query for the newest point reads no more than it needs. */
function* batches(groups: readonly StoredChunk[][]): Generator<StoredChunk[][]> {
  let batch: StoredChunk[][] = [];
  let points = 0;
  let pointsMax = 0;
  for (const group of groups) {
    batch.push(group);
    points += group.reduce((total, chunk) => total + chunk.points, 0);
    if (points < pointsMax) continue;
    yield batch;
    batch = [];
    points = 0;
    pointsMax = fetchPointsMax;
  }
  if (batch.length > 0) yield batch;
}

/** The range's points in files and in memory as one run; memory wins where both hold a time. */
export async function fetchMerged(
  source: ReaderFiles,
  range: FileRange,
  memory: Run | null,
  limits: ReadLimits,
): Promise<Run> {
  const wanted = limits.newest ?? limits.oldest ?? Number.POSITIVE_INFINITY;
  const newestFirst = limits.newest !== undefined;
  const { bytesMax = Number.POSITIVE_INFINITY } = wanted === Number.POSITIVE_INFINITY ? {} : limits;
  const runs: Run[] = [];
  let points = 0;
  let bytes = 0;
  let cut = false;
  if (wanted > 0) {
    for await (const run of fetchRuns(source, knownPart(range, memory, newestFirst), newestFirst)) {
      runs.push(run);
      points += run.times.length;
      if (points >= wanted) break;
      if (Array.isArray(run.values)) bytes += textsBytes(run.values);
      cut = bytes >= bytesMax;
      if (cut) break;
    }
  }
  if (newestFirst) runs.reverse();
  const joined = concatRuns(runs, range.text);
  const files = cut ? { ...joined, cut } : joined;
  // The answer moves to another thread; the rest of a chunk must not go with it.
  return ownRun(limitRun(memory === null ? files : mergeKnown(files, memory, newestFirst), limits));
}

/** The range up to the end of a cut run of texts in memory: the files are not read beyond it. */
function knownPart(range: FileRange, memory: Run | null, newestFirst: boolean): FileRange {
  if (memory?.cut !== true) return range;
  return newestFirst
    ? { ...range, start: Math.max(range.start, firstTime(memory)) }
    : { ...range, stop: Math.min(range.stop, lastTime(memory) + 1) };
}

/** The same points in ascending runs, merged only where memory and a run overlap. */
export async function* fetchOverlaid(
  files: ReaderFiles,
  range: FileRange,
  memory: Run | null,
): AsyncGenerator<Run> {
  let left = memory ?? emptyRun(range.text);
  for await (const run of fetchRuns(files, range, false)) {
    if (left.times.length === 0) {
      yield run;
      continue;
    }
    const until = (run.times.at(-1) ?? 0) + 1;
    yield mergeRuns(run, clipRun(left, Number.MIN_SAFE_INTEGER, until));
    left = clipRun(left, until, Number.MAX_SAFE_INTEGER);
  }
  if (left.times.length > 0) yield left;
}
