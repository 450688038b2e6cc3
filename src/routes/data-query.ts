import { z } from "@hono/zod-openapi";
import { type Fill, fills } from "../../query/fill.js";
import { resolveRange, timeUnits } from "../../query/range.js";
import type { TimeFormat } from "../../query/time-text.js";
import type { DeviceRef } from "../catalog.js";
import type { AppDeps } from "../deps.js";
import { ApiError, invalid } from "../http/errors.js";
import { wholeNumber } from "../http/paging.js";

/** The query parameters that metrics_data and original_data share. */

export const limitDefault = 10_000;
const limitMax = 100_000;

const parameter = (description: string, example?: string) =>
  z
    .string()
    .optional()
    .openapi({ description, ...(example === undefined ? {} : { example }) });

export const dataQuery = z.object({
  deviceID: parameter("string id of the device or gateway", "weather-1"),
  deviceIntID: parameter("record id of the device or gateway"),
  groupID: parameter("string id of a group: of rows of CSV or NDJSON, those of its devices"),
  layout: parameter(
    "of CSV and NDJSON: long (a row a point) or wide (one column per data point); default long",
  ),
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
export type DataQuery = z.output<typeof dataQuery>;

/** What both endpoints read of their query, validated. */
export interface Asked {
  readonly device: DeviceRef;
  readonly metricType: number | null;
  readonly metricIntID: number | null;
  readonly timezone: string;
  /** One present for the whole answer, milliseconds since 1970. */
  readonly now: number;
  readonly fill: Fill | null;
  readonly limit: number | null;
  readonly format: TimeFormat;
}

/** @throws ApiError PARAMETER_INVALID naming every wrong parameter, DATA_NOT_FOUND for the device */
export async function readQuery(deps: AppDeps, tenant: number, query: DataQuery): Promise<Asked> {
  const errors: Record<string, string> = {};
  const number = (name: "metricType" | "metricIntID" | "limit" | "deviceIntID", min: number, max: number) =>
    query[name] ? wholeNumber(query[name], min, min, max, name, errors) : null;
  const metricType = number("metricType", 1, 2);
  const metricIntID = number("metricIntID", 1, Number.MAX_SAFE_INTEGER);
  const limit = number("limit", 1, limitMax);
  const deviceIntID = number("deviceIntID", 1, Number.MAX_SAFE_INTEGER);
  const fill = oneOf(fills, query.fill, "fill", errors);
  const format = oneOf(["iso", "ms"] as const, query.timeFormat, "timeFormat", errors) ?? "text";
  if (!query.deviceID && deviceIntID === null) errors.deviceID = "deviceID or deviceIntID is required";
  if (Object.keys(errors).length > 0) throw invalid(errors);
  // Also where no metric or data point will ask for the range.
  const now = deps.now();
  const timezone = query.timezone || deps.zone.name;
  resolveRange(query, "real", timezone, now);
  const device = await findDevice(deps, tenant, query.deviceID || null, deviceIntID);
  return { device, metricType, metricIntID, limit, fill, format, timezone, now };
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
