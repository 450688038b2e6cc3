import type { SeriesRef, SeriesStore } from "../store/series.js";
import { boundsOf } from "./metrics.js";
import type { Range } from "./range.js";

/** Points of one series in an answer, and whether there were more. Times in microseconds. */
export interface OriginalData {
  readonly times: Float64Array;
  readonly values: readonly (number | string | boolean | readonly number[])[];
  readonly truncated: boolean;
}

/** How a data point's stored form is shown: booleans as true and false, places as arrays. */
export type OriginalForm = "number" | "boolean" | "text" | "place";

/** The newest `limit` points of the range, ascending. */
export async function originalData(
  store: SeriesStore,
  series: SeriesRef,
  form: OriginalForm,
  range: Range,
  limit: number,
): Promise<OriginalData> {
  const most = range.newest ?? limit;
  // One more than wanted tells whether something was cut; the default of newest points cuts nothing off.
  const asked = range.newest === undefined ? most + 1 : most;
  const columns = await store.read(series, { ...boundsOf(range), newest: asked });
  const truncated = columns.times.length > most;
  const from = truncated ? columns.times.length - most : 0;
  const values = Array.from(columns.values.slice(from) as ArrayLike<number | string>, shown[form]);
  return { times: columns.times.subarray(from), values, truncated };
}

const shown: Readonly<Record<OriginalForm, (value: number | string) => OriginalData["values"][number]>> = {
  number: (value) => value,
  boolean: (value) => value === 1,
  text: (value) => value,
  place: (value) => JSON.parse(String(value)) as readonly number[],
};
