import { StoreError } from "../store/lib/errors.js";
import { createAggregation } from "../store/series/aggregation.js";
import type { Aggregate, AggregateQuery, SeriesReader, SeriesRef } from "../store/series/series.js";
import { type Filling, fillWindows } from "./fill.js";
import {
  type DeviceFormula,
  evaluateAt,
  formulaPieces,
  givenValues,
  lastGivenBefore,
  previousValue,
} from "./formula-series.js";
import { asNumbers } from "./points.js";
import { type Range, toBounds } from "./range.js";
import { thinFormula, thinnedFormula } from "./thinned-formula.js";
import { listWindows } from "./windows.js";

/** The aggregate for each aggregateType of the interface. */
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

/** Values that one answer may hold, over all its metrics. */
export const answerValuesMax = 1_000_000;

/** Times in microseconds; a value is null if there is none. */
export interface MetricData {
  readonly times: readonly number[] | Float64Array;
  /** For windows, the wall time of each one's calendar start, in milliseconds as if it were UTC. */
  readonly labels: readonly number[] | null;
  readonly values: readonly (number | string | null)[];
  readonly errors: number;
}

/** How many values are wanted. */
interface FormulaSize {
  /** At so many of the range's newest points; null: as `maxPoints` says, or the default. */
  readonly limit: number | null;
  readonly limitDefault: number;
  /** Thins the whole range, or the newest points, to this many values; null for no thinning. */
  readonly maxPoints: number | null;
}

/** A formula metric: its value at each raw point of the range, or at those that stand for all of them. */
export async function formulaMetric(
  store: SeriesReader,
  series: SeriesRef,
  deviceFormula: DeviceFormula,
  range: Range,
  { limit, limitDefault, maxPoints }: FormulaSize,
): Promise<MetricData> {
  const isWhole = maxPoints !== null && limit === null && range.newest === undefined;
  const found = isWhole
    ? await thinnedFormula(store, series, deviceFormula, range, maxPoints)
    : await newestValues(store, series, deviceFormula, range, range.newest ?? limit ?? limitDefault);
  const { times, values } = maxPoints === null || isWhole ? found : thinFormula(found, maxPoints);
  return { times, labels: null, values: Array.from(values, nullForNaN), errors: found.errors };
}

async function newestValues(
  store: SeriesReader,
  series: SeriesRef,
  deviceFormula: DeviceFormula,
  range: Range,
  newest: number,
) {
  const own = asNumbers(await store.read(series, { ...toBounds(range), newest }));
  const previous = await previousValue(store, deviceFormula, series, own);
  return evaluateAt(store, deviceFormula, own, previous);
}

function nullForNaN(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

interface AggregateMetric {
  readonly aggregate: Aggregate;
  /** If null, raw values are aggregated. */
  readonly formula: DeviceFormula | null;
  readonly fill: Filling | null;
}

/** An aggregate metric: one value for each window. @throws StoreError INVALID for raw points, LIMIT */
export async function aggregateMetric(
  store: SeriesReader,
  series: SeriesRef,
  metric: AggregateMetric,
  range: Range,
): Promise<MetricData> {
  const { unit, start, stop } = range;
  if (unit === "real" || start === undefined || stop === undefined) {
    throw new StoreError("INVALID", "cannot aggregate raw points", {
      time_unit: "must not be real for an aggregate metric",
    });
  }
  const windows = listWindows(unit, range.zone, start, stop);
  const { aggregate, formula } = metric;
  const query = { series, edges: windows.edges, aggregate, calendar: { unit, timezone: range.zone.name } };
  const { values, errors } =
    formula === null
      ? { values: await store.aggregate(query), errors: 0 }
      : ((await pushedDown(store, query, formula)) ?? (await aggregateFormula(store, query, formula)));
  const filled = fillWindows(metric.fill, windows.starts, values);
  const pick = (list: readonly number[]) => filled.windows.map((i) => list[i] as number);
  return {
    times: pick(windows.starts),
    labels: pick(windows.labels),
    values: filled.values,
    errors,
  };
}

interface FormulaWindows {
  readonly values: readonly (number | null)[];
  readonly errors: number;
}

/** Plain arithmetic is left to the engine, if it takes it. */
async function pushedDown(
  store: SeriesReader,
  query: AggregateQuery,
  { formula: { arithmetic } }: DeviceFormula,
): Promise<FormulaWindows | null> {
  if (arithmetic === null || query.series.kind === "text") return null;
  const answer = await store.aggregateArithmetic({ ...query, arithmetic });
  return answer && { values: answer.values.map(finiteOrNull), errors: answer.errors };
}

function finiteOrNull(value: number | null): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Reads the range in pieces and gathers the formula's values into the windows. */
async function aggregateFormula(
  store: SeriesReader,
  { series, edges, aggregate }: AggregateQuery,
  deviceFormula: DeviceFormula,
): Promise<FormulaWindows> {
  const start = edges[0] as number;
  const stop = edges[edges.length - 1] as number;
  const aggregation = createAggregation(edges, aggregate);
  // Looked up only once there is a value to compare with it: a formula that is always null reads nothing before.
  let needsStart = aggregate === "increase";
  let errors = 0;
  for await (const evaluated of formulaPieces(store, deviceFormula, series, { start, stop })) {
    const { times, values } = givenValues(evaluated);
    if (needsStart && times.length > 0) {
      const before = await lastGivenBefore(store, deviceFormula, series, start);
      if (!Number.isNaN(before)) aggregation.startFrom(before);
      needsStart = false;
    }
    aggregation.add(times, values);
    errors += evaluated.errors;
  }
  return { values: aggregation.result().map(finiteOrNull), errors };
}
