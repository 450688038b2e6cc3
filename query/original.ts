import type { Columns, SeriesRef, SeriesStore } from "../store/series.js";
import { downsample, thin } from "./downsample.js";
import { boundsOf, type Range } from "./range.js";

export type OriginalValue = number | string | boolean | readonly number[];

/** Points of one series in an answer, and whether there were more. Times in microseconds. */
export interface OriginalData {
  readonly times: Float64Array;
  /** Of the points [from, to), made when they are asked for. */
  readonly values: (from: number, to: number) => OriginalValue[];
  readonly truncated: boolean;
}

/** How a data point's stored form is shown: booleans as true and false, places as arrays. */
export type OriginalForm = "number" | "boolean" | "text" | "place";

/** How many points are wanted. */
export interface OriginalSize {
  /** The newest of the range; null: as `maxPoints` says, or the default. */
  readonly limit: number | null;
  readonly limitDefault: number;
  /** Thinned to so many, whatever the range holds; null: none is left out. */
  readonly maxPoints: number | null;
}

/** The points of the range, ascending: the newest `limit`, or `maxPoints` that stand for all of them. */
export async function originalData(
  store: SeriesStore,
  series: SeriesRef,
  form: OriginalForm,
  range: Range,
  { limit, limitDefault, maxPoints }: OriginalSize,
): Promise<OriginalData> {
  const isNumeric = series.kind !== "text";
  if (maxPoints !== null && limit === null && range.newest === undefined && isNumeric) {
    return shownAs(form, await downsample(store, series, range, maxPoints), false);
  }
  const most = range.newest ?? limit ?? limitDefault;
  // One more than wanted tells whether something was cut; the default of newest points cuts nothing off.
  const asked = range.newest === undefined ? most + 1 : most;
  const columns = await store.read(series, { ...boundsOf(range), newest: asked });
  const truncated = columns.times.length > most;
  const newest = truncated ? behind(columns, columns.times.length - most) : columns;
  return shownAs(form, maxPoints === null ? newest : thin(newest, maxPoints), truncated);
}

function behind(columns: Columns, from: number): Columns {
  const times = columns.times.subarray(from);
  return columns.kind === "text"
    ? { kind: columns.kind, times, values: columns.values.slice(from) }
    : { kind: columns.kind, times, values: columns.values.subarray(from) };
}

function shownAs(form: OriginalForm, { times, values }: Columns, truncated: boolean): OriginalData {
  const some = (from: number, to: number) =>
    Array.from(values.slice(from, to) as ArrayLike<number | string>, shown[form]);
  return { times, values: some, truncated };
}

const shown: Readonly<Record<OriginalForm, (value: number | string) => OriginalValue>> = {
  number: (value) => value,
  boolean: (value) => value === 1,
  text: (value) => value,
  place: (value) => JSON.parse(String(value)) as readonly number[],
};
