import { z } from "@hono/zod-openapi";
import { maxPointsLeast, maxPointsMost } from "../../query/downsample.js";
import { type Filling, fills } from "../../query/fill.js";
import { type Range, resolveRange, timeUnits } from "../../query/range.js";
import { type TimeFormat, timeForms } from "../../query/time-text.js";
import { readInteger } from "../../store/lib/number-text.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import { existingMetrics } from "../../store/metadata/products/metrics.js";
import type { ProductModel } from "../devices/catalog.js";
import { ApiError, invalid } from "../http/errors.js";
import { wholeNumber } from "../http/list-query.js";
import { type HistoryLayout, layouts } from "../import-export/points/limits.js";
import {
  type DeviceNames,
  findDevice,
  findDevices,
  queriedDevicesMax,
  type RequestedDevices,
} from "./data-devices.js";
import type { AppDeps } from "./deps.js";

/** The query parameters that the data endpoints share. */

export const limitDefault = 10_000;
const limitMax = 100_000;

export const parameter = (description: string, example?: string) =>
  z
    .string()
    .optional()
    .openapi({ description, ...(example === undefined ? {} : { example }) });

export const dataQuery = z.object({
  deviceID: parameter("string id of the device or gateway", "weather-1"),
  deviceIntID: parameter("record id of the device or gateway"),
  metricType: parameter("1 formula, 2 aggregate; absent: all; chooses no data points"),
  metricIntID: parameter("record id of one metric; one of another product answers nothing"),
  time_unit: parameter(`one of ${timeUnits.join(", ")}`, "day"),
  startTime: parameter(`included; ${timeForms}`),
  endTime: parameter("not included; the same forms"),
  timezone: parameter("IANA time zone; absent: the deployment's", "Asia/Shanghai"),
  fill: parameter(`for empty windows: ${fills.join(", ")}; absent: null`),
  limit: parameter(`points a series, at most ${limitMax}; default ${limitDefault}`),
  timeFormat: parameter("iso or ms for exact times; absent: YYYY-MM-DD HH:MM:SS"),
});
type DataQuery = z.output<typeof dataQuery>;

/** The queries of charts: many devices at once, and points thinned to those that a line shows. */
export const chartQuery = dataQuery.extend({
  deviceID: parameter(
    `string id of the device or gateway; several with commas between, at most ${queriedDevicesMax}`,
    "weather-1",
  ),
  groupID: parameter(`string id of a group: all its devices, at most ${queriedDevicesMax}`),
  maxPoints: parameter(
    `thins raw points and formulas to so many points of each that keep its line (LTTB), from 4 on its lowest and highest among them; ${maxPointsLeast} to ${maxPointsMost}; without limit over the whole range; windows stay`,
    "2000",
  ),
});
/** The most data points of one query. */
const dataPointsMax = 100;

export const originalQuery = chartQuery.extend({
  dataPointIntID: parameter(
    `record id of a data point; several with commas between, at most ${dataPointsMax}; absent: all`,
    "1,2",
  ),
  layout: parameter(
    "of CSV and NDJSON: long (a row a point) or wide (one column per data point); default long",
  ),
});
export type ChartQuery = z.output<typeof chartQuery> & Partial<z.output<typeof originalQuery>>;

/** The validated query parameters of the endpoints, besides the devices. */
interface RequestedData {
  readonly metricType: number | null;
  readonly metricIntID: number | null;
  /** Null: all. */
  readonly dataPointIntIDs: ReadonlySet<number> | null;
  readonly timezone: string;
  /**
   * The range, resolved once for each answer, with one `now`. `unitDefault` applies if the request names no time_unit.
   */
  readonly range: (unitDefault: UnitDefault) => Range;
  readonly fill: Filling | null;
  readonly limit: number | null;
  readonly maxPoints: number | null;
  readonly format: TimeFormat;
  /** The layout of rows of CSV or NDJSON. */
  readonly layout: HistoryLayout | null;
}

/** `real` for raw points of formulas and of devices, `hour` for windows of aggregates. */
type UnitDefault = "real" | "hour";

/** Dependencies of reading a query. */
export type QueryDeps = Pick<AppDeps, "catalog" | "db" | "zone" | "now">;

type RequestedDeviceData = RequestedData & { readonly device: DeviceRef };
export type ChartRequest = RequestedData & RequestedDevices;

/**
 * Reads the query for one device. @throws ApiError PARAMETER_INVALID naming every wrong parameter, DATA_NOT_FOUND for
 * the device
 */
export async function readQuery(
  deps: QueryDeps,
  tenant: number,
  query: DataQuery,
): Promise<RequestedDeviceData> {
  const { deviceID, deviceIntID, ...asked } = readParameters(deps, query);
  return { ...asked, device: await findDevice(deps, tenant, deviceID, deviceIntID) };
}

/** Reads the query for several devices. @throws ApiError as `readQuery` */
export async function readChartQuery(
  deps: QueryDeps,
  tenant: number,
  query: ChartQuery,
): Promise<ChartRequest> {
  const { deviceID, deviceIntID, groupID, ...asked } = readParameters(deps, query);
  const found = await findDevices(deps, tenant, { deviceID, deviceIntID, groupID });
  if (asked.metricIntID !== null) await checkMetric(deps, tenant, found.devices, asked.metricIntID);
  return { ...asked, ...found };
}

/**
 * A dashboard asks for a metric of the devices' product, which is cached: only other metrics cost a statement.
 * @throws ApiError DATA_NOT_FOUND if the tenant has no such metric
 */
async function checkMetric(
  { catalog, db }: QueryDeps,
  tenant: number,
  devices: readonly DeviceRef[],
  id: number,
): Promise<void> {
  for (const product of new Set(devices.map(({ productIntID }) => productIntID))) {
    if ((await catalog.model(product)).metrics.some((metric) => metric.id === id)) return;
  }
  const found = await existingMetrics(db, tenant, [id]);
  if (found.length === 0) {
    throw new ApiError("DATA_NOT_FOUND", "cannot find the metric", { metricIntID: "unknown" });
  }
}

type Parameters = DataQuery & Partial<ChartQuery>;

function readParameters(deps: QueryDeps, query: Parameters): RequestedData & DeviceNames {
  const errors: Record<string, string> = {};
  type Whole = "metricType" | "metricIntID" | "limit" | "deviceIntID" | "maxPoints";
  const number = (name: Whole, min: number, max: number) =>
    query[name] ? wholeNumber(query[name], min, min, max, name, errors) : null;
  const numbers = {
    metricType: number("metricType", 1, 2),
    metricIntID: number("metricIntID", 1, Number.MAX_SAFE_INTEGER),
    limit: number("limit", 1, limitMax),
    maxPoints: number("maxPoints", maxPointsLeast, maxPointsMost),
    deviceIntID: number("deviceIntID", 1, Number.MAX_SAFE_INTEGER),
  };
  const dataPointIntIDs = query.dataPointIntID ? readDataPoints(query.dataPointIntID, errors) : null;
  const how = parseOneOf(fills, query.fill, "fill", errors);
  const layout = parseOneOf(layouts, query.layout, "layout", errors);
  const format = parseOneOf(["iso", "ms"] as const, query.timeFormat, "timeFormat", errors) ?? "text";
  const names = { deviceID: query.deviceID || null, groupID: query.groupID || null };
  if (names.deviceID === null && names.groupID === null && numbers.deviceIntID === null) {
    errors.deviceID = "deviceID or deviceIntID is required";
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const timezone = query.timezone || deps.zone.name;
  const now = deps.now();
  const fill = how === null ? null : { how, now: now * 1000 };
  const range = createRange(query, timezone, now, numbers.limit);
  // Checked even if no metric or data point will use it.
  range("real");
  return { ...numbers, ...names, dataPointIntIDs, fill, format, layout, timezone, range };
}

function readDataPoints(text: string, errors: Record<string, string>): ReadonlySet<number> {
  const ids = text.split(",");
  if (ids.length > dataPointsMax) errors.dataPointIntID = `must name at most ${dataPointsMax} data points`;
  const found = ids.slice(0, dataPointsMax).map((id) => readInteger(id));
  if (found.some((id) => id === null || id < 1))
    errors.dataPointIntID = "must be whole numbers from 1 on, with commas between";
  return new Set(found.filter((id) => id !== null));
}

/** `limit` replaces the default number of newest points. */
function createRange(
  query: Parameters,
  timezone: string,
  now: number,
  limit: number | null,
): RequestedData["range"] {
  const known = new Map<string, Range>();
  return (unitDefault) => {
    const unit = query.time_unit || unitDefault;
    let range = known.get(unit);
    if (range === undefined) {
      range = resolveRange(query, unitDefault, timezone, now);
      if (range.newest !== undefined && limit !== null) range = { ...range, newest: limit };
      known.set(unit, range);
    }
    return range;
  };
}

/** One of the given words, or null if absent; any other is noted in `errors`. */
export function parseOneOf<const Values extends readonly string[]>(
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

/** Every reportable data point, or that of the metric asked for, or of these those that are named. */
export function listRequestedPoints({ points, metrics }: ProductModel, asked: RequestedData): DataPoint[] {
  const { dataPointIntIDs: named, metricIntID } = asked;
  const metric = metrics.find(({ id }) => id === metricIntID);
  return points.filter(
    (point) =>
      (metricIntID === null ? point.dataTransType !== 2 : point.id === metric?.dataPointIntID) &&
      (named === null || named.has(point.id)),
  );
}
