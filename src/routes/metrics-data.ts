/** Values of metrics: formulas and aggregates of the requested devices. */
import { type Computing, createComputing } from "../../query/formula/computing.js";
import { memoizeFormula, storedFormulaOptions } from "../../query/formula/formula.js";
import type { DeviceFormula } from "../../query/formula-series.js";
import { aggregateMetric, aggregatesByType, formulaMetric, type MetricData } from "../../query/metrics.js";
import { timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { type DataPoint, toSeriesKind } from "../../store/metadata/products/data-points.js";
import type { Metric } from "../../store/metadata/products/metrics.js";
import type { SeriesReader } from "../../store/series/series.js";
import { conditionalAnswer } from "../http/conditional-response.js";
import { ApiError, invalid } from "../http/errors.js";
import { Column } from "../http/json-stream.js";
import { inParallel } from "../http/parallel.js";
import type { Reservation } from "../http/response-budget.js";
import type { RouteAnswer } from "../http/route.js";
import type { Writing } from "../http/writing.js";
import { metricOfData } from "../views/metrics.js";
import {
  createBudget,
  createSeriesQueries,
  formOfTimes,
  type QueryBudget,
  queriesAtOnce,
  showOwner,
  timeColumn,
} from "./data-answers.js";
import { type ChartQuery, type ChartRequest, limitDefault, readChartQuery } from "./data-query.js";
import type { AppDeps } from "./deps.js";

const compile = memoizeFormula();
const formulaType = 1;
const aggregateType = 2;
const formulaData = 1;

export async function answerMetrics(
  deps: AppDeps,
  tenant: number,
  query: ChartQuery,
  asker: MetricRequester,
): Promise<RouteAnswer> {
  const asked = await readChartQuery(deps, tenant, query);
  if (asked.metricType === aggregateType && query.time_unit === "real") {
    throw realAggregate();
  }
  const means = createMeans(deps, asker);
  const { items, errors } = await metricItems(
    deps,
    asked,
    (metric) => isRequested(metric, asked, query),
    means,
  );
  return conditionalAnswer(asker.request, items, errorHeaders(errors), formOfTimes(asked));
}

/** An item for each metric that is wanted, of each device. */
export async function metricItems(
  deps: AppDeps,
  asked: ChartRequest,
  isWanted: (metric: Metric) => boolean,
  means: Means,
): Promise<Items> {
  const queries = await createSeriesQueries(deps, asked, ({ metrics, points }) => {
    const byID = new Map(points.map((point) => [point.id, point]));
    return metrics.filter(isWanted).map((metric) => ({ metric, points: byID }));
  });
  return readItems(deps, asked, queries, means);
}

/**
 * The data of a metric that is not saved, whose devices are all of its product. @throws ApiError PARAMETER_INVALID
 */
export async function previewMetric(
  deps: AppDeps,
  tenant: number,
  { metric, query }: { readonly metric: Metric; readonly query: ChartQuery },
  asker: MetricRequester,
): Promise<RouteAnswer> {
  const asked = await readChartQuery(deps, tenant, query);
  if (metric.metricType === aggregateType && query.time_unit === "real") throw realAggregate();
  if (asked.devices.some(({ productIntID }) => productIntID !== metric.productIntID)) {
    throw invalid({ dataPointIntID: "must be a data point of the device's product" });
  }
  const queries = await createSeriesQueries(deps, asked, ({ points }) => [
    { metric, points: new Map(points.map((point) => [point.id, point])) },
  ]);
  const { items, errors } = await readItems(deps, asked, queries, createMeans(deps, asker));
  const body = items.map((item) => ({ ...item, id: null, createAt: null }));
  return { status: 200, body, headers: errorHeaders(errors) };
}

const realAggregate = () => invalid({ time_unit: "must not be real for aggregate metrics" });

interface MetricQuery {
  readonly device: DeviceRef;
  readonly metric: Metric;
  readonly points: ReadonlyMap<number, DataPoint>;
}

/** What an answer is made with: until when, how much it may hold, and how long its formulas may compute. */
interface Means {
  readonly signal: AbortSignal;
  readonly budget: QueryBudget;
  readonly computing: Computing;
  readonly writing: Writing;
}

interface Items {
  readonly items: readonly object[];
  /** Values that no formula could give. */
  readonly errors: number;
}

/** The receiver of the answer, and its form. */
interface MetricRequester {
  readonly request: Request;
  readonly hold: Reservation | null;
  readonly writing: Writing;
}

const createMeans = ({ config }: AppDeps, { request, hold, writing }: MetricRequester): Means => ({
  signal: request.signal,
  writing,
  budget: createBudget(hold),
  computing: createComputing(config.formulaSecondsMax),
});

const errorHeaders = (errors: number): Readonly<Record<string, string>> =>
  errors > 0 ? { "Formula-Errors": String(errors) } : {};

async function readItems(
  deps: AppDeps,
  asked: ChartRequest,
  queries: readonly MetricQuery[],
  { signal, budget, computing, writing }: Means,
): Promise<Items> {
  const store = deps.series.under(signal);
  let errors = 0;
  const items = await inParallel(queries, queriesAtOnce, async ({ device, metric, points }) => {
    const data = await metricData({ ...deps, store }, computing, device, asked, metric, points);
    errors += data.errors;
    await budget(data.values.length, 0);
    return {
      ...metricOfData(metric, writing),
      metricData: columns(data, asked),
      ...showOwner(device, asked),
    };
  });
  return { items, errors };
}

/** If metricType is absent, raw points mean formulas only. */
function isRequested(metric: Metric, asked: ChartRequest, query: ChartQuery): boolean {
  if (asked.metricIntID !== null && metric.id !== asked.metricIntID) return false;
  if (asked.metricType !== null) return metric.metricType === asked.metricType;
  return !(query.time_unit === "real" && metric.metricType === aggregateType && asked.metricIntID === null);
}

async function metricData(
  deps: AppDeps & { readonly store: SeriesReader },
  computing: Computing,
  device: DeviceRef,
  asked: ChartRequest,
  metric: Metric,
  points: ReadonlyMap<number, DataPoint>,
): Promise<MetricData> {
  const point = points.get(metric.dataPointIntID);
  if (point === undefined) throw new ApiError("DATA_NOT_FOUND", "the metric's data point is gone");
  const series = deps.refs.of(device, { field: point.field, kind: toSeriesKind(point.pointDataType) });
  const formula =
    metric.expressions === null ? null : bind(deps, computing, metric.expressions, device, points);
  if (metric.metricType === formulaType) {
    const range = asked.range("real");
    if (formula === null) throw new ApiError("INTERNAL_ERROR", "a formula metric without a formula");
    const { limit, maxPoints } = asked;
    return formulaMetric(deps.store, series, formula, range, { limit, limitDefault, maxPoints });
  }
  const aggregate = aggregatesByType.get(metric.aggregateType ?? 0);
  if (aggregate === undefined)
    throw new ApiError("INTERNAL_ERROR", "an aggregate metric without an aggregate");
  const ofFormula = metric.aggregateData === formulaData ? formula : null;
  const range = asked.range("hour");
  return aggregateMetric(deps.store, series, { aggregate, formula: ofFormula, fill: asked.fill }, range);
}

/** The product's other data points by name; a name whose data point is deleted is null at every point. */
function bind(
  { refs }: AppDeps,
  computing: Computing,
  text: string,
  device: DeviceRef,
  points: ReadonlyMap<number, DataPoint>,
): DeviceFormula {
  const ids = new Set([...points.values()].map((point) => point.dataPointID));
  const formula = compile(text, ids, storedFormulaOptions);
  const others = [...points.values()].map(
    (point) =>
      [
        point.dataPointID,
        refs.of(device, { field: point.field, kind: toSeriesKind(point.pointDataType) }),
      ] as const,
  );
  return { formula, others: new Map(others), computing };
}

/** Windows have their calendar start as the wall clock shows it, or as an exact instant. */
function columns(data: MetricData, asked: ChartRequest): object {
  const place = zone(asked.timezone);
  const write = timeWriters[asked.format];
  const time =
    data.labels !== null && asked.format === "text"
      ? timeColumn(data.labels, wallLabel)
      : timeColumn(data.times, (at) => write(place, at));
  return { time, value: new Column(data.values.length, (from, to) => data.values.slice(from, to)) };
}

/** The calendar start of a window, as its wall clock shows it. */
function wallLabel(wall: number): string {
  const iso = new Date(wall).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}
