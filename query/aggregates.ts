import type { Aggregate } from "../store/series/series.js";

/** aggregateType of the interface → aggregate. */
export const aggregatesByType: ReadonlyMap<number, Aggregate> = new Map([
  [1, "max"],
  [2, "min"],
  [3, "mean"],
  [4, "sum"],
  [5, "increase"],
  [6, "first"],
  [7, "last"],
  [8, "count"],
]);

/** Points without the ones that have no value (NaN: a null of the formula). */
export function withValues(times: Float64Array, values: Float64Array): [Float64Array, Float64Array] {
  if (!values.some(Number.isNaN)) return [times, values];
  return [times.filter((_, i) => !Number.isNaN(values[i])), values.filter((value) => !Number.isNaN(value))];
}
