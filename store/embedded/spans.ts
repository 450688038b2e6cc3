import { earliestTime, latestTime } from "../time-range.js";
import { monthOf } from "./months.js";

/**
 * Which spans of time the files of a folder stand for, as what they hold tells: spans are cut where a month begins that
 * holds nothing yet, so that no two files hold times of one another's.
 */

/** A file by its name, and what is in it. */
export interface FoundFile {
  readonly path: string;
  /** Of several files named after one month the higher replaces the lower where they hold the same times. */
  readonly generation: number;
  /** First and last time (both held), of one that cannot be read those of the month of its name; null: it is empty. */
  readonly held: { readonly low: number; readonly high: number } | null;
  readonly isReadable: boolean;
}

export interface PlacedFile {
  readonly path: string;
  /** Start taken, stop not. */
  readonly start: number;
  readonly stop: number;
  /** First and last time in it, or of the month of its name. */
  readonly held: NonNullable<FoundFile["held"]>;
}

/** Spans without a gap, ascending; and the files that hold times of another's. */
export function placeFiles(files: readonly FoundFile[]): {
  placed: PlacedFile[];
  unplaced: FoundFile[];
} {
  const unplaced: FoundFile[] = [];
  const kept: (FoundFile & { readonly held: NonNullable<FoundFile["held"]> })[] = [];
  const full = files.flatMap((file) => (file.held === null ? [] : [{ ...file, held: file.held }]));
  // What can be read goes first, and what replaces another before it.
  const byWorth = full.toSorted(
    (a, b) => Number(b.isReadable) - Number(a.isReadable) || b.generation - a.generation,
  );
  for (const file of byWorth) {
    const start = monthOf(file.held.low).start;
    const overlaps = kept.some(({ held }) => start <= held.high && monthOf(held.low).start <= file.held.high);
    if (overlaps) unplaced.push(file);
    else kept.push(file);
  }
  kept.sort((a, b) => a.held.low - b.held.low);
  const starts = kept.map(({ held }, i) => {
    const { start } = monthOf(held.low);
    return i === 0 ? Math.min(earliestTime, start) : start;
  });
  const placed = kept.map(({ path, held }, i) => ({
    path,
    held,
    start: starts[i] as number,
    stop: starts[i + 1] ?? Math.max(latestTime + 1, monthOf(held.high).stop),
  }));
  return { placed, unplaced };
}
