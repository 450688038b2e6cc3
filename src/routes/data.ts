import { z } from "@hono/zod-openapi";
import { aggregatesByType } from "../../query/aggregates.js";
import { type Fill, fills } from "../../query/fill.js";
import { memoizeFormula } from "../../query/formula.js";
import type { BoundFormula } from "../../query/formula-series.js";
import { aggregateMetric, answerValuesMax, formulaMetric, type MetricData } from "../../query/metrics.js";
import { type OriginalForm, originalData } from "../../query/original.js";
import { type Range, resolveRange, timeUnits } from "../../query/range.js";
import { createSeriesRefs } from "../../query/series-refs.js";
import { type TimeFormat, timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { type DataPoint, kindOf } from "../../store/data-points.js";
import type { Metric } from "../../store/metrics.js";
import type { DeviceRef } from "../catalog.js";
import type { AppDeps } from "../deps.js";
import { ApiError, invalid } from "../http/errors.js";
import { wholeNumber } from "../http/paging.js";
import { type Answer, type Route, route } from "../http/route.js";
import { metricOfData } from "../views/metrics.js";
import { metricStoredSchema } from "./metrics.js";
import { int } from "./schemas.js";

const tag = "Data";
const formulaType = 1;
const aggregateType = 2;
const formulaData = 1;
const limitDefault = 10_000;
const limitMax = 100_000;

const parameter = (description: string, example?: string) =>
  z
    .string()
    .optional()
    .openapi({ description, ...(example === undefined ? {} : { example }) });

const dataQuery = z.object({
  deviceID: parameter("string id of the device or gateway", "weather-1"),
  deviceIntID: parameter("record id of the device or gateway"),
  metricType: parameter("1 formula, 2 aggregate; absent: all"),
  metricIntID: parameter("record id of one metric"),
  time_unit: parameter(`one of ${timeUnits.join(", ")}`, "day"),
  startTime: parameter("included; YYYY-MM-DD HH:MM:SS in timezone, ISO 8601 with offset, or milliseconds"),
  endTime: parameter("not included; the same forms"),
  timezone: parameter("IANA time zone; absent: the deployment's", "Asia/Shanghai"),
  fill: parameter(`for empty windows: ${fills.join(", ")}; absent: null`),
  limit: parameter(`points a series, at most ${limitMax}; default ${limitDefault}`),
  timeFormat: parameter("iso or ms for exact times; absent: YYYY-MM-DD HH:MM:SS"),
});
type DataQuery = z.output<typeof dataQuery>;

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
        schema: z.array(
          z.object({ dataPointIntID: int, dataPointName: z.string(), originalData: timeAndValue }),
        ),
      },
      errors: ["DATA_NOT_FOUND"],
      handle: ({ caller, query }) => answerOriginal(deps, caller.tenant, query),
    }),
  ];
}

/** What both endpoints read of their query, validated. */
interface Asked {
  readonly device: DeviceRef;
  readonly metricType: number | null;
  readonly metricIntID: number | null;
  readonly timezone: string;
  readonly fill: Fill | null;
  readonly limit: number | null;
  readonly format: TimeFormat;
}

const refs = createSeriesRefs();
const compile = memoizeFormula();

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
    items.push({ ...metricOfData(metric, deps.stamp), metricData: columns(data, asked) });
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
  const series = refs.of(asked.device, { field: point.field, kind: kindOf(point.pointDataType) });
  const formula = metric.expressions === null ? null : bind(metric.expressions, asked.device, points);
  if (metric.metricType === formulaType) {
    const range = rangeOf(deps, asked, query, "real");
    if (formula === null) throw new ApiError("INTERNAL_ERROR", "a formula metric without a formula");
    return formulaMetric(deps.series, series, formula, range, asked.limit ?? range.newest ?? limitDefault);
  }
  const aggregate = aggregatesByType.get(metric.aggregateType ?? 0);
  if (aggregate === undefined)
    throw new ApiError("INTERNAL_ERROR", "an aggregate metric without an aggregate");
  const ofFormula = metric.aggregateData === formulaData ? formula : null;
  const range = rangeOf(deps, asked, query, "hour");
  return aggregateMetric(deps.series, series, { aggregate, formula: ofFormula, fill: asked.fill }, range);
}

/** The other data points of the product by name; a name that has none any more is null throughout. */
function bind(text: string, device: DeviceRef, points: ReadonlyMap<number, DataPoint>): BoundFormula {
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
  const range = rangeOf(deps, asked, query, "real");
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
    const series = refs.of(asked.device, { field: point.field, kind: kindOf(point.pointDataType) });
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
function rangeOf(deps: AppDeps, asked: Asked, query: DataQuery, unitDefault: "real" | "hour"): Range {
  const range = resolveRange(query, unitDefault, asked.timezone, deps.now());
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

/** @throws ApiError PARAMETER_INVALID naming every wrong parameter, DATA_NOT_FOUND for the device */
async function readQuery(deps: AppDeps, tenant: number, query: DataQuery): Promise<Asked> {
  const errors: Record<string, string> = {};
  const number = (name: "metricType" | "metricIntID" | "limit" | "deviceIntID", min: number, max: number) =>
    query[name] ? wholeNumber(query[name], min, min, max, name, errors) : null;
  const metricType = number("metricType", formulaType, aggregateType);
  const metricIntID = number("metricIntID", 1, Number.MAX_SAFE_INTEGER);
  const limit = number("limit", 1, limitMax);
  const deviceIntID = number("deviceIntID", 1, Number.MAX_SAFE_INTEGER);
  const fill = oneOf(fills, query.fill, "fill", errors);
  const format = oneOf(["iso", "ms"] as const, query.timeFormat, "timeFormat", errors) ?? "text";
  if (!query.deviceID && deviceIntID === null) errors.deviceID = "deviceID or deviceIntID is required";
  if (Object.keys(errors).length > 0) throw invalid(errors);
  // Also where no metric or data point will ask for the range.
  resolveRange(query, "real", query.timezone || deps.zone.name, deps.now());
  const device = await findDevice(deps, tenant, query.deviceID || null, deviceIntID);
  return { device, metricType, metricIntID, limit, fill, format, timezone: query.timezone || deps.zone.name };
}

function oneOf<const Values extends readonly string[]>(
  values: Values,
  text: string | undefined,
  name: string,
  errors: Record<string, string>,
): Values[number] | null {
  if (text === undefined || text === "") return null;
  const found = values.find((value) => value === text);
  if (found === undefined) errors[name] = `must be one of ${values.join(", ")}`;
  return found ?? null;
}

/** …ID is the string id only, …IntID the record id only; both must name one device. */
async function findDevice(
  { catalog }: AppDeps,
  tenant: number,
  deviceID: string | null,
  deviceIntID: number | null,
): Promise<DeviceRef> {
  const byText = deviceID === null ? null : await catalog.byDeviceID(tenant, deviceID);
  if (byText === undefined)
    throw new ApiError("DATA_NOT_FOUND", "cannot find the device", { deviceID: "unknown" });
  const byNumber = deviceIntID === null ? null : await catalog.byIntID(tenant, deviceIntID);
  const found = byText ?? byNumber;
  if (byNumber === undefined || !found) {
    throw new ApiError("DATA_NOT_FOUND", "cannot find the device", { deviceIntID: "unknown" });
  }
  if (byNumber !== null && byNumber.id !== found.id) {
    throw invalid({ deviceIntID: "is another device than deviceID" });
  }
  return found;
}
