import { earliestTime, latestTime } from "../../lib/time-range.js";
import { type Month, monthOf } from "./months.js";

/**
 * Which spans of time the files of a folder stand for, as what they hold tells: spans are cut where a month begins that
 * holds nothing yet, so that no two files hold times of one another's.
 */

/** A file by its name, and what is in it. */
export interface FoundFile {
  readonly path: string;
  /** Of several files named after one month the higher replaces the lower where they hold the same times. */
  readonly generation: number;
  /** First and last time, both included; null: it is empty; the month of its name: it cannot be read. */
  readonly held: Span | Month | null;
}

interface Span {
  readonly low: number;
  readonly high: number;
}

/** A file with the beginning of its first month and its last time, as far as they are known. */
interface Standing {
  readonly file: FoundFile;
  /** Null: not known. */
  readonly held: Span | null;
  readonly first: number;
  readonly last: number;
}

/** Whether it could be read what a file holds. */
export const isKnown = (held: Span | Month): held is Span => "low" in held;

interface PlacedFile {
  readonly path: string;
  /** Start taken, stop not. */
  readonly start: number;
  readonly stop: number;
  /** First and last time in it; null: not known, any of its span. */
  readonly held: Span | null;
}

/**
 * Spans without a gap, ascending; and the files that hold times of another's. A file that cannot be read may hold more
 * than the month of its name: it stands for all that its neighbours are known not to hold.
 */
export function placeFiles(files: readonly FoundFile[]): {
  placed: PlacedFile[];
  unplaced: FoundFile[];
} {
  const unplaced: FoundFile[] = [];
  const kept: Standing[] = [];
  const full = files.flatMap((file): Standing[] => {
    if (file.held === null) return [];
    if (isKnown(file.held)) {
      return [{ file, held: file.held, first: monthOf(file.held.low).start, last: file.held.high }];
    }
    return [{ file, held: null, first: file.held.start, last: file.held.stop - 1 }];
  });
  // What can be read goes first, and what replaces another before it.
  const byWorth = full.toSorted(
    (a, b) => Number(b.held !== null) - Number(a.held !== null) || b.file.generation - a.file.generation,
  );
  for (const one of byWorth) {
    const overlaps = kept.some(({ first, last }) => one.first <= last && first <= one.last);
    if (overlaps) unplaced.push(one.file);
    else kept.push(one);
  }
  kept.sort((a, b) => a.first - b.first);
  const starts = kept.map(({ first, held }, i) => {
    const before = kept[i - 1];
    if (before === undefined) return Math.min(earliestTime, first);
    return held === null && before.held !== null ? monthOf(before.last).stop : first;
  });
  const placed = kept.map(({ file: { path }, held, last }, i) => ({
    path,
    held,
    start: starts[i] as number,
    stop: starts[i + 1] ?? Math.max(latestTime + 1, monthOf(last).stop),
  }));
  return { placed, unplaced };
}
