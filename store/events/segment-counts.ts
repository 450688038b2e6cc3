import type { PostingScope, SegmentCount } from "./event-index.js";
import type { Log } from "./event-postings.js";

/**
 * The counts of owners, remembered while the index file stays as it is: who follows a list asks for the same ones every
 * few seconds.
 */
interface SegmentCounts {
  /** From memory, or by `read`: of several owners always by `read`. */
  get(
    scope: PostingScope,
    owners: readonly number[],
    logs: readonly Log[],
    read: () => Promise<readonly SegmentCount[]>,
  ): Promise<readonly SegmentCount[]>;
  /** The file covers one segment more, or is another one. A segment that it no longer covers does not matter. */
  changed(): void;
}

/** The limit over all index files of the process: some 10 MB. */
export const countsMax = 50_000;

/** The one that was asked for longest ago stands first. */
const kept = new Map<string, readonly SegmentCount[]>();
let keptCounts = 0;
let indexFiles = 0;

export function createSegmentCounts(): SegmentCounts {
  const indexFile = indexFiles++;
  let version = 0;
  return {
    get: async (scope, owners, logs, read) => {
      if (owners.length !== 1) return read();
      // Counts that are read while the file changes are kept under a version that is not asked for again.
      const key = `${indexFile} ${version} ${scope} ${owners[0]} ${logs.join()}`;
      const counts = kept.get(key) ?? (await read());
      forget(key);
      keep(key, counts);
      return counts;
    },
    changed: () => {
      version++;
    },
  };
}

function keep(key: string, counts: readonly SegmentCount[]): void {
  kept.set(key, counts);
  keptCounts += countWeight(counts);
  for (const [oldest] of kept) {
    if (keptCounts <= countsMax) return;
    forget(oldest);
  }
}

function forget(key: string): void {
  const counts = kept.get(key);
  if (counts === undefined) return;
  kept.delete(key);
  keptCounts -= countWeight(counts);
}

/** An owner without counts takes memory as well. */
const countWeight = (counts: readonly SegmentCount[]): number => counts.length + 1;
