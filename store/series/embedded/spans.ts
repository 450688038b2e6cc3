import { earliestTime, latestTime } from "../../lib/time-range.js";
import { type Month, toMonth } from "./months.js";

/**
 * The spans of time that the files of a folder stand for, derived from what they hold: parts are only ever cut at the
 * beginning of a month that holds nothing yet, so no file holds times of another's span.
 */

/** A file by its name, and what is in it. */
export interface FoundFile {
  readonly path: string;
  /** Among several files named after one month, the higher generation wins where they hold the same times. */
  readonly generation: number;
  /** First and last time, both included; null where it is empty; the month of its name where it cannot be read. */
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

/** Whether the file could be read. */
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
 * Spans without gaps, ascending, and the files that hold times of another file's span. A file that cannot be read may
 * hold more than the month of its name: it stands for all times that its neighbours are known not to hold.
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
      return [{ file, held: file.held, first: toMonth(file.held.low).start, last: file.held.high }];
    }
    return [{ file, held: null, first: file.held.start, last: file.held.stop - 1 }];
  });
  // Files that can be read come first, and a file before the one that it replaces.
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
    return held === null && before.held !== null ? toMonth(before.last).stop : first;
  });
  const placed = kept.map(({ file: { path }, held, last }, i) => ({
    path,
    held,
    start: starts[i] as number,
    stop: starts[i + 1] ?? Math.max(latestTime + 1, toMonth(last).stop),
  }));
  return { placed, unplaced };
}
