import type { Columns, SeriesQuestions, SeriesRef } from "../store/series.js";
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

/** A series of one device and how it is shown. */
export interface OriginalSeries {
  readonly series: SeriesRef;
  readonly form: OriginalForm;
}

/**
 * The points of the range of some series of one device, ascending: the newest `limit`, or `maxPoints` that stand for
 * all of them. @throws StoreError of the first series that cannot be told
 */
export async function originalData(
  store: SeriesQuestions,
  asked: readonly OriginalSeries[],
  range: Range,
  { limit, limitDefault, maxPoints }: OriginalSize,
): Promise<OriginalData[]> {
  const thinned = maxPoints !== null && limit === null && range.newest === undefined ? maxPoints : null;
  const most = range.newest ?? limit ?? limitDefault;
  // One more than wanted tells whether something was cut; the default of newest points cuts nothing off.
  const wanted = range.newest === undefined ? most + 1 : most;
  const inStore = thinned !== null ? asked.filter(({ series }) => series.kind === "text") : asked;
  const read = await store.readNewest(
    inStore.map(({ series }) => series),
    boundsOf(range),
    wanted,
  );
  const newest = new Map(inStore.map((one, i) => [one, read[i]]));
  const answers: OriginalData[] = [];
  for (const one of asked) {
    const columns = newest.get(one);
    if (columns instanceof Error) throw columns;
    if (columns !== undefined) answers.push(newestShown(one.form, columns, most, maxPoints));
    else if (thinned !== null)
      answers.push(shownAs(one.form, await downsample(store, one.series, range, thinned), false));
  }
  return answers;
}

function newestShown(
  form: OriginalForm,
  columns: Columns,
  most: number,
  maxPoints: number | null,
): OriginalData {
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
