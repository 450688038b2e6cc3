/** The parts in memory, by time: which one stands for a time, and where none does. */

import { earliestTime, latestTime } from "../../lib/time-range.js";
import type { CatalogPart } from "./catalog-schema.js";
import type { StoredPart } from "./stored-part.js";

export interface PartList {
  /** Ascending; their spans do not overlap. */
  all(): readonly StoredPart[];
  /** The part that stands for a time; undefined where none does. */
  at(time: number): StoredPart | undefined;
  /** The stretch without a part around a time for which none stands. */
  vacancy(time: number): Pick<CatalogPart, "start" | "stop">;
  add(part: StoredPart): void;
  /** The parts of [start, stop) that may hold the series, ascending. */
  holding(series: number, start: number, stop: number): StoredPart[];
  /** Takes every part that ends at or before `time` off the list; its name stays taken until its file is unlinked. */
  retire(time: number): CatalogPart[];
  unlinked(path: string): void;
  /** No new part may have this name. */
  isTaken(path: string): boolean;
}

/** @param onChange receives every new list */
export function createPartList(
  loaded: readonly StoredPart[],
  onChange: (parts: readonly CatalogPart[]) => void,
): PartList {
  let parts = loaded;
  /** Files that are retired and not unlinked yet. */
  const leaving = new Set<string>();
  /** Where the parts that were retired last ended. */
  let retiredTo = Number.NEGATIVE_INFINITY;

  function change(next: readonly StoredPart[]): void {
    parts = next;
    onChange(parts);
  }

  return {
    all: () => parts,
    at: (time) => parts[partAt(parts, time)],
    vacancy: (time) => {
      const next = -1 - partAt(parts, time);
      const least = time >= retiredTo ? Math.max(retiredTo, earliestTime) : earliestTime;
      return { start: parts[next - 1]?.stop ?? least, stop: parts[next]?.start ?? latestTime + 1 };
    },
    add: (part) => change([...parts, part].sort((a, b) => a.start - b.start)),
    holding: (series, start, stop) =>
      parts.filter(
        (part) => part.stop > start && part.start < stop && (part.held === null || part.held.has(series)),
      ),
    retire: (time) => {
      const retired = parts.filter((part) => part.stop <= time);
      for (const { path, stop } of retired) {
        leaving.add(path);
        retiredTo = Math.max(retiredTo, stop);
      }
      change(parts.filter((part) => part.stop > time));
      return retired.map(({ start, stop, path }) => ({ start, stop, path }));
    },
    unlinked: (path) => {
      leaving.delete(path);
    },
    isTaken: (path) => leaving.has(path) || parts.some((part) => part.path === path),
  };
}

/**
 * Index of the part that holds a time, of parts in ascending order; where none does, -1 - the index of the next one.
 */
function partAt(parts: readonly StoredPart[], time: number): number {
  let low = 0;
  let high = parts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((parts[middle] as StoredPart).stop <= time) low = middle + 1;
    else high = middle;
  }
  const found = parts[low];
  return found !== undefined && found.start <= time ? low : -1 - low;
}
