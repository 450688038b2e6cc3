/** A rule that is not saved, over the stored points of one device. */
import { type Backtest, createBacktest, type RaisedSpan } from "../../ingest/alerts/backtest.js";
import type { Computing } from "../../query/formula/computing.js";
import { eachInstant, instantPointsMax } from "../../query/instants.js";
import { readNumbers } from "../../query/points.js";
import type { AlertRule } from "../../store/metadata/alerts/alert-rules.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { type DataPoint, toSeriesKind } from "../../store/metadata/products/data-points.js";
import type { SeriesReader, SeriesRef } from "../../store/series/series.js";
import { createConditions } from "./conditions.js";

export const spansMax = 1_000;
/** What a condition may look back to: the value and the one before it. */
const seededMax = 2;

const compile = createConditions();

interface Backtested {
  readonly spans: readonly RaisedSpan[];
  readonly points: number;
  /** The first time that was not looked at any more, microseconds; null: none. */
  readonly leftFrom: number | null;
}

interface BacktestRequest {
  readonly rule: Pick<AlertRule, "dataPointIntID" | "condition" | "duration">;
  readonly device: DeviceRef;
  /** All data points of the product. */
  readonly points: readonly DataPoint[];
  /** Microseconds. */
  readonly range: { readonly start: number; readonly stop: number };
  readonly computing: Computing;
}

/** @throws StoreError LIMIT once the condition has been computed for too long */
export async function backtestRule(
  store: SeriesReader,
  toSeriesRef: (device: DeviceRef, point: DataPoint) => SeriesRef,
  { rule, device, points, range, computing }: BacktestRequest,
): Promise<Backtested> {
  const backtest = await createBacktest(rule, points, compile);
  const named = new Set(backtest.operands);
  // A text says nothing to a condition.
  const operands = points.filter(
    ({ id, pointDataType }) => named.has(id) && toSeriesKind(pointDataType) !== "text",
  );
  const series = operands.map((point) => toSeriesRef(device, point));
  await seed(store, backtest, operands, series, range.start);
  const { points: read, leftFrom } = await eachInstant({
    store,
    series,
    range,
    pointsMax: instantPointsMax,
    visit: (time, at, values) => {
      backtest.take(
        time,
        at.map((i) => operands[i]?.id ?? 0),
        values,
      );
      return backtest.count <= spansMax;
    },
    spend: computing.spend,
  });
  return { spans: backtest.spans().slice(0, spansMax), points: read, leftFrom };
}

async function seed(
  store: SeriesReader,
  backtest: Backtest,
  operands: readonly DataPoint[],
  series: readonly SeriesRef[],
  stop: number,
): Promise<void> {
  for (const [i, { id }] of operands.entries()) {
    const { times, values } = await readNumbers(store, series[i] as SeriesRef, { stop, newest: seededMax });
    backtest.seed(
      id,
      Array.from(times, (time, k) => ({ time, value: values[k] as number })),
    );
  }
}
