import { createSlice } from "../store/lib/scheduling.js";
import type { SeriesReader, SeriesRef } from "../store/series/series.js";
import type { Computing } from "./formula/computing.js";
import type { Formula } from "./formula/formula.js";
import { type NumberColumns, pointBefore, pointsPerRead, readLatestBefore, readNumbers } from "./points.js";

/** A formula bound to one device: the series of its own data point and of the others that it names. */
export interface DeviceFormula {
  readonly formula: Formula;
  /** By dataPointID; a name without a series counts as null at every point. */
  readonly others: ReadonlyMap<string, SeriesRef>;
  /** The computing time that the answer has left. */
  readonly computing: Computing;
}

export interface FormulaValues extends NumberColumns {
  readonly errors: number;
}

/**
 * The formula at each point of its own series. `previous` is the value of the point before the first one, also
 * before the range (NaN when the first is the first stored). @throws StoreError LIMIT
 */
export async function evaluateAt(
  store: SeriesReader,
  deviceFormula: DeviceFormula,
  own: NumberColumns,
  previous: number,
): Promise<FormulaValues> {
  // A data point may be called __proto__.
  const inputs: Record<string, Float64Array> = Object.create(null);
  for (const variable of deviceFormula.formula.variables) {
    if (variable === "dataPoint") inputs[variable] = own.values;
    else if (variable === "lastValue") inputs[variable] = shifted(own.values, previous);
    else {
      const series = deviceFormula.others.get(variable);
      if (series !== undefined) inputs[variable] = await readLatestBefore(store, series, own.times);
    }
  }
  return { times: own.times, ...(await inSlices(deviceFormula, own.times.length, inputs)) };
}

/** The formula at each point of [start, stop), in pieces of the range as they are read. @throws StoreError LIMIT */
export async function* formulaPieces(
  store: SeriesReader,
  deviceFormula: DeviceFormula,
  series: SeriesRef,
  { start, stop }: { readonly start: number; readonly stop: number },
): AsyncGenerator<FormulaValues, void> {
  let previous: number | null = null;
  for (let from = start; from < stop; ) {
    const own = await readNumbers(store, series, { start: from, stop, oldest: pointsPerRead });
    const last = own.times.at(-1);
    if (last === undefined) return;
    previous ??= await previousValue(store, deviceFormula, series, own);
    yield await evaluateAt(store, deviceFormula, own, previous);
    previous = own.values.at(-1) ?? Number.NaN;
    if (own.times.length < pointsPerRead) return;
    from = last + 1;
  }
}

/** Without the points at which the formula is null. */
export function givenValues({ times, values }: NumberColumns): NumberColumns {
  if (!values.some(Number.isNaN)) return { times, values };
  return {
    times: times.filter((_, i) => !Number.isNaN(values[i])),
    values: values.filter((value) => !Number.isNaN(value)),
  };
}

/** For a formula of weight 1: about half a millisecond. */
const rowsPerStep = 16_384;

/** Evaluates in steps that take about the same time, whatever the formula weighs; others get their turn in between. */
async function inSlices(
  { formula, computing }: DeviceFormula,
  rows: number,
  inputs: Readonly<Record<string, Float64Array>>,
): Promise<{ values: Float64Array; errors: number }> {
  const step = Math.ceil(rowsPerStep / formula.weight);
  const values = new Float64Array(rows);
  let errors = 0;
  const turn = createSlice();
  for (let from = 0; from < rows; from += step) {
    const began = performance.now();
    const to = Math.min(rows, from + step);
    const some: Record<string, Float64Array> = Object.create(null);
    for (const name in inputs) some[name] = (inputs[name] as Float64Array).subarray(from, to);
    const evaluated = formula.evaluate(to - from, some);
    values.set(evaluated.values, from);
    errors += evaluated.errors;
    computing.spend(performance.now() - began);
    if (turn.isOver()) await turn.next();
  }
  return { values, errors };
}

/** `lastValue` of the first point, if the formula uses it. */
export async function previousValue(
  store: SeriesReader,
  deviceFormula: DeviceFormula,
  series: SeriesRef,
  own: NumberColumns,
): Promise<number> {
  const first = own.times[0];
  if (first === undefined || !deviceFormula.formula.variables.includes("lastValue")) return Number.NaN;
  return (await pointBefore(store, series, first))?.value ?? Number.NaN;
}

/** Points read at first, and at most, to find the formula's last value before a time. */
const backward = { first: 1, most: 16_384, widening: 16 } as const;

/**
 * The last value that the formula gave before `time`, or NaN if it never gave one. Points without a result are passed
 * over, a bounded number at a time. Reading them counts as computing, which bounds how many are read.
 * @throws StoreError LIMIT
 */
export async function lastGivenBefore(
  store: SeriesReader,
  deviceFormula: DeviceFormula,
  series: SeriesRef,
  time: number,
): Promise<number> {
  for (let stop = time, newest: number = backward.first; ; ) {
    const began = performance.now();
    const own = await readNumbers(store, series, { stop, newest });
    deviceFormula.computing.spend(performance.now() - began);
    const { values } = await evaluateAt(
      store,
      deviceFormula,
      own,
      await previousValue(store, deviceFormula, series, own),
    );
    const given = values.findLast((value) => !Number.isNaN(value));
    if (given !== undefined) return given;
    const [first] = own.times;
    if (first === undefined || own.times.length < newest) return Number.NaN;
    stop = first;
    newest = Math.min(newest * backward.widening, backward.most);
  }
}

function shifted(values: Float64Array, previous: number): Float64Array {
  if (values.length === 0) return values;
  const moved = new Float64Array(values.length);
  moved.set(values.subarray(0, -1), 1);
  moved[0] = previous;
  return moved;
}
