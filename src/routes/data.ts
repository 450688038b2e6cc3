import { z } from "@hono/zod-openapi";
import { aggregatesByType } from "../../query/aggregates.js";
import { memoizeFormula } from "../../query/formula.js";
import type { BoundFormula } from "../../query/formula-series.js";
import { aggregateMetric, answerValuesMax, formulaMetric, type MetricData } from "../../query/metrics.js";
import { type OriginalForm, originalData } from "../../query/original.js";
import { type Range, resolveRange } from "../../query/range.js";
import { timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { type DataPoint, kindOf } from "../../store/data-points.js";
import type { Metric } from "../../store/metrics.js";
import type { DeviceRef } from "../catalog.js";
import type { AppDeps } from "../deps.js";
import { historyTypes } from "../history/bounds.js";
import { ApiError, invalid } from "../http/errors.js";
import { type Answer, type Route, route } from "../http/route.js";
import { int } from "../http/schemas.js";
import { metricOfData } from "../views/metrics.js";
import { streamFormat, streamOriginal } from "./data-export.js";
import { type Asked, type DataQuery, dataQuery, limitDefault, readQuery } from "./data-query.js";
import { metricStoredSchema } from "./metrics.js";

const tag = "Data";
const compile = memoizeFormula();
const formulaType = 1;
const aggregateType = 2;
const formulaData = 1;

const timeAndValue = z.object({
  time: z.array(z.union([z.string(), z.number()])),
  value: z.array(z.union([z.number(), z.string(), z.boolean(), z.array(z.number()), z.null()])),
});

export function dataRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/metrics_data",
      access: "read",
      tag,
      summary: "Formula and aggregate values of a device's metrics",
      shape: { query: dataQuery },
      answer: {
        status: 200,
        schema: z.array(metricStoredSchema.extend({ dataPointName: z.string(), metricData: timeAndValue })),
      },
      errors: ["DATA_NOT_FOUND"],
      handle: ({ caller, query }) => answerMetrics(deps, caller.tenant, query),
    }),
    route({
      method: "get",
      path: "/api/v1/original_data",
      access: "read",
      tag,
      summary: "Raw points of a device",
      shape: { query: dataQuery },
      answer: {
        status: 200,
        texts: Object.values(historyTypes),
        schema: z.array(
          z.object({ dataPointIntID: int, dataPointName: z.string(), originalData: timeAndValue }),
        ),
      },
      errors: ["DATA_NOT_FOUND", "TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"],
      handle: ({ caller, query, request }) => {
        const format = streamFormat(request);
        return format === null
          ? answerOriginal(deps, caller.tenant, query)
          : streamOriginal(deps, caller.tenant, query, request, format);
      },
    }),
  ];
}

async function answerMetrics(deps: AppDeps, tenant: number, query: DataQuery): Promise<Answer> {
  const asked = await readQuery(deps, tenant, query);
  if (asked.metricType === aggregateType && query.time_unit === "real") {
    throw invalid({ time_unit: "must not be real for aggregate metrics" });
  }
  const model = await deps.catalog.model(asked.device.productIntID);
  const points = new Map(model.points.map((point) => [point.id, point]));
  const metrics = model.metrics.filter((metric) => isAsked(metric, asked, query));
  const items: object[] = [];
  let errors = 0;
  let values = 0;
  for (const metric of metrics) {
    const data = await metricData(deps, asked, query, metric, points);
    errors += data.errors;
    values += data.values.length;
    checkValues(values);
    items.push({ ...metricOfData(metric, deps), metricData: columns(data, asked) });
  }
  return { status: 200, body: items, headers: errors > 0 ? { "Formula-Errors": String(errors) } : {} };
}

/** metricType absent with raw points: formulas only. */
function isAsked(metric: Metric, asked: Asked, query: DataQuery): boolean {
  if (asked.metricIntID !== null && metric.id !== asked.metricIntID) return false;
  if (asked.metricType !== null) return metric.metricType === asked.metricType;
  return !(query.time_unit === "real" && metric.metricType === aggregateType && asked.metricIntID === null);
}

async function metricData(
  deps: AppDeps,
  asked: Asked,
  query: DataQuery,
  metric: Metric,
  points: ReadonlyMap<number, DataPoint>,
): Promise<MetricData> {
  const point = points.get(metric.dataPointIntID);
  if (point === undefined) throw new ApiError("DATA_NOT_FOUND", "the metric's data point is gone");
  const series = deps.refs.of(asked.device, { field: point.field, kind: kindOf(point.pointDataType) });
  const formula = metric.expressions === null ? null : bind(deps, metric.expressions, asked.device, points);
  if (metric.metricType === formulaType) {
    const range = rangeOf(asked, query, "real");
    if (formula === null) throw new ApiError("INTERNAL_ERROR", "a formula metric without a formula");
    return formulaMetric(deps.series, series, formula, range, asked.limit ?? range.newest ?? limitDefault);
  }
  const aggregate = aggregatesByType.get(metric.aggregateType ?? 0);
  if (aggregate === undefined)
    throw new ApiError("INTERNAL_ERROR", "an aggregate metric without an aggregate");
  const ofFormula = metric.aggregateData === formulaData ? formula : null;
  const range = rangeOf(asked, query, "hour");
  return aggregateMetric(deps.series, series, { aggregate, formula: ofFormula, fill: asked.fill }, range);
}

/** The other data points of the product by name; a name that has none any more is null throughout. */
function bind(
  { refs }: AppDeps,
  text: string,
  device: DeviceRef,
  points: ReadonlyMap<number, DataPoint>,
): BoundFormula {
  const ids = new Set([...points.values()].map((point) => point.dataPointID));
  const formula = compile(text, ids, { allowUnknown: true });
  const others = [...points.values()].map(
    (point) =>
      [
        point.dataPointID,
        refs.of(device, { field: point.field, kind: kindOf(point.pointDataType) }),
      ] as const,
  );
  return { formula, others: new Map(others) };
}

async function answerOriginal(deps: AppDeps, tenant: number, query: DataQuery): Promise<Answer> {
  const asked = await readQuery(deps, tenant, query);
  const range = rangeOf(asked, query, "real");
  const model = await deps.catalog.model(asked.device.productIntID);
  const metrics = model.metrics.filter((metric) => isOfMetric(metric, asked));
  const wanted = new Set(metrics.map((metric) => metric.dataPointIntID));
  const all = asked.metricType === null && asked.metricIntID === null;
  const points = model.points.filter((point) => (all ? point.dataTransType !== 2 : wanted.has(point.id)));
  const write = timeWriters[asked.format];
  const items: object[] = [];
  let truncated = false;
  let values = 0;
  for (const point of points) {
    const series = deps.refs.of(asked.device, { field: point.field, kind: kindOf(point.pointDataType) });
    const data = await originalData(deps.series, series, formOf(point), range, asked.limit ?? limitDefault);
    truncated ||= data.truncated;
    values += data.values.length;
    checkValues(values);
    items.push({
      dataPointIntID: point.id,
      dataPointName: point.dataPointName,
      originalData: { time: Array.from(data.times, (time) => write(range.zone, time)), value: data.values },
    });
  }
  return { status: 200, body: items, headers: truncated ? { Truncated: "true" } : {} };
}

function isOfMetric(metric: Metric, asked: Asked): boolean {
  return (
    (asked.metricIntID === null || metric.id === asked.metricIntID) &&
    (asked.metricType === null || metric.metricType === asked.metricType)
  );
}

const placeType = 6;

function formOf(point: DataPoint): OriginalForm {
  return point.pointDataType === placeType ? "place" : kindOf(point.pointDataType);
}

/** `limit` of the request takes the place of the default number of newest points. */
function rangeOf(asked: Asked, query: DataQuery, unitDefault: "real" | "hour"): Range {
  const range = resolveRange(query, unitDefault, asked.timezone, asked.now);
  return range.newest !== undefined && asked.limit !== null ? { ...range, newest: asked.limit } : range;
}

/** Windows carry their calendar start: as the wall clock shows it, or as an exact instant. */
function columns(data: MetricData, asked: Asked): object {
  const place = zone(asked.timezone);
  const write = timeWriters[asked.format];
  const time =
    data.labels !== null && asked.format === "text"
      ? data.labels.map(wallLabel)
      : Array.from(data.times, (at) => write(place, at));
  return { time, value: data.values };
}

/** The calendar start of a window, as its wall clock shows it. */
function wallLabel(wall: number): string {
  const iso = new Date(wall).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

function checkValues(values: number): void {
  if (values <= answerValuesMax) return;
  throw invalid({ limit: `an answer holds at most ${answerValuesMax} values: shorten the range` });
}
