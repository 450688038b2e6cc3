import type { SeriesRef, SeriesStore } from "../store/series.js";
import type { Formula } from "./formula.js";
import { type NumberColumns, pointBefore, readAsOf } from "./points.js";

/** A formula bound to one device: the series of its own data point and of the others that it names. */
export interface BoundFormula {
  readonly formula: Formula;
  /** By dataPointID; a name without a series is null throughout. */
  readonly others: ReadonlyMap<string, SeriesRef>;
}

export interface FormulaValues extends NumberColumns {
  readonly errors: number;
}

/**
 * The formula at each point of its own series. `previous` is the value of the point before the first one, also
 * before the range (NaN when the first is the first stored).
 */
export async function evaluateAt(
  store: SeriesStore,
  bound: BoundFormula,
  own: NumberColumns,
  previous: number,
): Promise<FormulaValues> {
  // A data point may be called __proto__.
  const inputs: Record<string, Float64Array> = Object.create(null);
  for (const variable of bound.formula.variables) {
    if (variable === "dataPoint") inputs[variable] = own.values;
    else if (variable === "lastValue") inputs[variable] = shifted(own.values, previous);
    else {
      const series = bound.others.get(variable);
      if (series !== undefined) inputs[variable] = await readAsOf(store, series, own.times);
    }
  }
  const { values, errors } = bound.formula.evaluate(own.times.length, inputs);
  return { times: own.times, values, errors };
}

/** `lastValue` of the first point, where the formula asks for it. */
export async function previousValue(
  store: SeriesStore,
  bound: BoundFormula,
  series: SeriesRef,
  own: NumberColumns,
): Promise<number> {
  const first = own.times[0];
  if (first === undefined || !bound.formula.variables.includes("lastValue")) return Number.NaN;
  return (await pointBefore(store, series, first))?.value ?? Number.NaN;
}

function shifted(values: Float64Array, previous: number): Float64Array {
  const moved = new Float64Array(values.length);
  moved.set(values.subarray(0, Math.max(0, values.length - 1)), 1);
  if (values.length > 0) moved[0] = previous;
  return moved;
}
