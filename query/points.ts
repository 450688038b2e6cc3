import type { Columns, ReadRange, SeriesReader, SeriesRef } from "../store/series/series.js";

/** Points read at once if a range may hold any number. */
export const pointsPerRead = 100_000;
/** How many single points can be looked up in about the time of such a read. */
const lookupsPerRead = 16;

/** Columns of numbers; NaN stands for null. */
export interface NumberColumns {
  readonly times: Float64Array;
  readonly values: Float64Array;
}

/** A series as numbers: booleans are 1 and 0, and a series of texts is null at each time. */
export async function readNumbers(
  store: SeriesReader,
  series: SeriesRef,
  range: ReadRange,
): Promise<NumberColumns> {
  return asNumbers(await store.read(series, range));
}

export function asNumbers(columns: Columns): NumberColumns {
  if (columns.kind !== "text") return columns;
  return { times: columns.times, values: new Float64Array(columns.times.length).fill(Number.NaN) };
}

/** The last point before `time`, or null. */
export async function pointBefore(
  store: SeriesReader,
  series: SeriesRef,
  time: number,
): Promise<{ time: number; value: number } | null> {
  const { times, values } = await readNumbers(store, series, { stop: time, newest: 1 });
  const [found] = times;
  const [value] = values;
  return found === undefined || value === undefined ? null : { time: found, value };
}

/**
 * The value of a series at each of `times`: the one at that time, else the newest before it; NaN before the first
 * (as-of join). `times` ascend. The time that it takes grows with `times`, however many points lie between them.
 */
export async function readLatestBefore(
  store: SeriesReader,
  series: SeriesRef,
  times: Float64Array,
): Promise<Float64Array> {
  const joined = new Float64Array(times.length).fill(Number.NaN);
  // It is null at every point: no text is read, however long it is.
  if (series.kind === "text") return joined;
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined) return joined;
  const before = await pointBefore(store, series, first);
  let value = before?.value ?? Number.NaN;
  let joinedTo = 0;
  /** Joins the next ones, each by a query of its own. */
  async function lookUp(): Promise<void> {
    const end = Math.min(joinedTo + lookupsPerRead, times.length);
    while (joinedTo < end) {
      const found = await pointBefore(store, series, (times[joinedTo] as number) + 1);
      value = found?.value ?? Number.NaN;
      joined[joinedTo++] = value;
    }
  }

  // Reads in pieces: the other series may hold a million points between two of these.
  for (let from = first; from <= last; ) {
    const joinedBefore = joinedTo;
    const some = await readNumbers(store, series, { start: from, stop: last + 1, oldest: pointsPerRead });
    for (const [at, time] of some.times.entries()) {
      while (joinedTo < times.length && (times[joinedTo] as number) < time) joined[joinedTo++] = value;
      value = some.values[at] as number;
    }
    if (some.times.length < pointsPerRead) break;
    from = (some.times.at(-1) as number) + 1;
    if (joinedTo - joinedBefore >= lookupsPerRead) continue;
    await lookUp();
    from = Math.max(from, (times[joinedTo - 1] as number) + 1);
  }
  joined.fill(value, joinedTo);
  return joined;
}
