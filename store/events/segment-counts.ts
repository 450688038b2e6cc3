import { createRecordCache } from "../lib/record-cache.js";
import type { Scope, SegmentCount } from "./event-index.js";
import type { Log } from "./event-postings.js";

/**
 * The counts of the owners that were asked for last: who follows a list asks for them every few seconds, and they
 * change only with the index file.
 */
interface SegmentCounts {
  /** From memory, or by `read`: of several owners always by `read`. */
  get(
    scope: Scope,
    owners: readonly number[],
    logs: readonly Log[],
    read: () => Promise<readonly SegmentCount[]>,
  ): Promise<readonly SegmentCount[]>;
  /** The file covers one segment more, or is another one. A segment that it no longer covers does not matter. */
  changed(): void;
}

/** Owners whose counts are kept, and segments of each: together some 2 MB. */
const ownersMax = 32;
const segmentsMax = 500;

const indexFile = "file";

export function createSegmentCounts(): SegmentCounts {
  const cache = createRecordCache<string, readonly SegmentCount[]>(ownersMax, (counts) =>
    counts.length <= segmentsMax ? [indexFile] : null,
  );
  return {
    get: (scope, owners, logs, read) =>
      owners.length === 1 ? cache.get(`${scope} ${owners[0]} ${logs.join()}`, read) : read(),
    changed: () => cache.touch(indexFile),
  };
}
