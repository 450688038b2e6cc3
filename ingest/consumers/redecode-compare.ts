/** Compares newly decoded points with the stored ones. */
import { textsPerReadBytes } from "../../store/lib/text-bytes.js";
import type { Columns, Point, SeriesRef, SeriesStore } from "../../store/series/series.js";

const readPointsMax = 10_000;

export interface Compared {
  /** Those whose series has no point at their time. */
  readonly missing: readonly Point[];
  /** Points at whose time another value is stored. */
  readonly changed: number;
  readonly unchanged: number;
}

type ByTime = ReadonlyMap<SeriesRef, Map<number, Point>>;

/** The first of the points of one series and time: the newest message's. */
export function newestOfEach(points: readonly Point[]): ByTime {
  const bySeries = new Map<SeriesRef, Map<number, Point>>();
  for (const point of points) {
    const byTime = bySeries.get(point.series) ?? new Map<number, Point>();
    bySeries.set(point.series, byTime);
    if (!byTime.has(point.time)) byTime.set(point.time, point);
  }
  return bySeries;
}

export async function compareStored(store: Pick<SeriesStore, "read">, bySeries: ByTime): Promise<Compared> {
  const missing: Point[] = [];
  let changed = 0;
  let unchanged = 0;
  for (const [series, byTime] of bySeries) {
    const times = [...byTime.keys()].sort((a, b) => a - b);
    const stop = (times.at(-1) ?? 0) + 1;
    // In pieces: one message may be years older than the next, with a million points between them.
    for (let at = 0; at < times.length; ) {
      const range = { start: times[at] as number, stop, oldest: readPointsMax, bytesMax: textsPerReadBytes };
      const found = await store.read(series, range);
      for (const [i, time] of found.times.entries()) {
        const point = byTime.get(time);
        if (point === undefined) continue;
        if (isSame(point, found, i)) unchanged++;
        else changed++;
        byTime.delete(time);
      }
      const last = found.times.at(-1);
      const isCut = found.kind === "text" && found.cut === true;
      if (last === undefined || (found.times.length < readPointsMax && !isCut)) break;
      while (at < times.length && (times[at] as number) <= last) at++;
    }
    missing.push(...byTime.values());
  }
  return { missing, changed, unchanged };
}

/** Columns hold booleans as 1 and 0. */
function isSame({ value }: Point, { values }: Columns, at: number): boolean {
  return (typeof value === "boolean" ? Number(value) : value) === values[at];
}

/** Some 16 MiB of times. */
const seenMax = 1_000_000;

interface SeenTimes {
  /** How many of the points have a series and time that came up for the first time. */
  countNew(points: readonly Point[]): number;
}

/** Where nothing is written, older messages do not find what newer ones would have stored. */
export function createSeenTimes(): SeenTimes {
  const seen = new Map<SeriesRef, Set<number>>();
  let size = 0;
  return {
    countNew: (points) => {
      let count = 0;
      for (const { series, time } of points) {
        const times = seen.get(series) ?? new Set<number>();
        seen.set(series, times);
        if (times.has(time)) continue;
        count++;
        // Beyond the bound a time that comes again counts again.
        if (size >= seenMax) continue;
        times.add(time);
        size++;
      }
      return count;
    },
  };
}
