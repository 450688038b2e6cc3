import type { Columns, ReadRange, SeriesRef, SeriesStore } from "../store/series.js";

/** Columns of numbers; NaN stands for null. */
export interface NumberColumns {
  readonly times: Float64Array;
  readonly values: Float64Array;
}

/** A series as numbers: booleans are 1 and 0, a text operand is null. */
export async function readNumbers(
  store: SeriesStore,
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
  store: SeriesStore,
  series: SeriesRef,
  time: number,
): Promise<{ time: number; value: number } | null> {
  const { times, values } = await readNumbers(store, series, { stop: time, newest: 1 });
  const [found] = times;
  const [value] = values;
  return found === undefined || value === undefined ? null : { time: found, value };
}

/**
 * The value of a series at each of `times`: the one at that time, else the newest before; NaN before the first
 * (as-of join). `times` ascend.
 */
export async function readAsOf(
  store: SeriesStore,
  series: SeriesRef,
  times: Float64Array,
): Promise<Float64Array> {
  const joined = new Float64Array(times.length).fill(Number.NaN);
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined) return joined;
  const before = await pointBefore(store, series, first);
  const within = await readNumbers(store, series, { start: first, stop: last + 1 });
  let value = before?.value ?? Number.NaN;
  let at = 0;
  for (const [i, time] of times.entries()) {
    while (at < within.times.length && (within.times[at] as number) <= time)
      value = within.values[at++] as number;
    joined[i] = value;
  }
  return joined;
}
