import { resolveRange } from "../../query/range.js";
import { findDevicesByName, findDevicesOfGroup, type NamedDevice } from "../../store/history-devices.js";
import type { ReadRange } from "../../store/series.js";
import type { AppDeps } from "../deps.js";
import { type HistoryFormat, historyTypes, layouts } from "../history/bounds.js";
import { type ExportedDevice, planExport } from "../history/export-plan.js";
import { openExport } from "../history/export-stream.js";
import { ApiError, invalid } from "../http/errors.js";
import { attachment } from "../http/file-answer.js";
import type { Answer } from "../http/route.js";
import type { DataQuery } from "./data-query.js";

/** Raw points as a stream of rows, of any range, without a limit. */

export const devicesMax = 100;
export type ExportDeps = Pick<AppDeps, "db" | "series" | "refs" | "catalog" | "zone" | "now">;

/** Streams at once; each has a thread of its own. */
export const streamsMax = 8;
const streams = new WeakMap<AppDeps["series"], { open: number }>();

/** The row format that the caller prefers over JSON; null when that is as welcome. */
export function streamFormat(request: Request): HistoryFormat | null {
  const wanted = weights(request.headers.get("accept") ?? "");
  const of = (type: string) => wanted.get(type) ?? 0;
  const json = wanted.get("application/json") ?? Math.max(of("application/*"), of("*/*"));
  const [best] = (["csv", "ndjson"] as const)
    .map((format) => ({ format, weight: of(historyTypes[format]) }))
    .sort((a, b) => b.weight - a.weight);
  return best !== undefined && best.weight > json ? best.format : null;
}

/** Whether the answer may be packed. */
export function takesGzip(request: Request): boolean {
  const wanted = weights(request.headers.get("accept-encoding") ?? "");
  return (wanted.get("gzip") ?? wanted.get("*") ?? 0) > 0;
}

/** The entries of a header with their quality values (RFC 9110 §12.4.2). */
function weights(header: string): Map<string, number> {
  return new Map(
    header.split(",").map((entry) => {
      const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const weight = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
      return [name, Number.isNaN(weight) ? 0 : weight];
    }),
  );
}

/** @throws ApiError PARAMETER_INVALID, DATA_NOT_FOUND, TOO_MANY_REQUESTS */
export async function streamOriginal(
  deps: ExportDeps,
  tenant: number,
  query: DataQuery,
  request: Request,
  format: HistoryFormat,
): Promise<Answer> {
  const layout = layouts.find((one) => one === (query.layout || "long"));
  if (layout === undefined) throw invalid({ layout: `must be one of ${layouts.join(", ")}` });
  const range = rangeOf(deps, query);
  const devices = await devicesOf(deps, tenant, query);
  const exported: ExportedDevice[] = [];
  for (const device of devices) exported.push({ ...device, points: await pointsOf(deps, device, query) });
  const gzip = takesGzip(request);
  const { plan, series } = planExport(deps.refs, { format, layout, gzip }, exported);
  const body = await counted(deps, (closed) => openExport(deps.series, { plan, series, range, closed }));
  const name = devices.length === 1 ? (devices[0]?.deviceID ?? "") : "devices";
  return {
    status: 200,
    type: `${historyTypes[format]}; charset=utf-8`,
    body,
    headers: {
      "Content-Disposition": attachment(`${name}.${format}`),
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      Vary: "Accept, Accept-Encoding",
      ...(gzip ? { "Content-Encoding": "gzip" } : {}),
    },
  };
}

async function counted<T>({ series }: ExportDeps, open: (closed: () => void) => Promise<T>): Promise<T> {
  const count = streams.get(series) ?? { open: 0 };
  streams.set(series, count);
  if (count.open >= streamsMax) {
    throw new ApiError(
      "TOO_MANY_REQUESTS",
      `at most ${streamsMax} exports may run at once`,
      {},
      { "Retry-After": "5" },
    );
  }
  count.open++;
  return open(() => {
    count.open--;
  });
}

/** Raw points without a startTime begin with the first; a window unit has its own default range. */
function rangeOf(deps: ExportDeps, query: DataQuery): Pick<ReadRange, "start" | "stop"> {
  const { start, stop } = resolveRange(query, "real", query.timezone || deps.zone.name, deps.now());
  return { ...(start === undefined ? {} : { start }), ...(stop === undefined ? {} : { stop }) };
}

async function devicesOf(deps: ExportDeps, tenant: number, query: DataQuery): Promise<NamedDevice[]> {
  const { deviceID, deviceIntID, groupID } = query;
  if ([deviceID, deviceIntID, groupID].every((one) => !one)) {
    throw invalid({ deviceID: "deviceID, deviceIntID or groupID is required" });
  }
  if (groupID) return ofGroup(deps, tenant, groupID);
  const devices = deviceID ? await ofNames(deps, tenant, deviceID) : [];
  if (!deviceIntID) return devices;
  const id = /^\d{1,15}$/.test(deviceIntID) ? Number(deviceIntID) : Number.NaN;
  if (Number.isNaN(id)) throw invalid({ deviceIntID: "must be a whole number" });
  const one = await deps.catalog.byIntID(tenant, id);
  if (one === undefined) throw unknown({ deviceIntID: "unknown" });
  if (devices.length > 0 && (devices.length > 1 || devices[0]?.id !== one.id)) {
    throw invalid({ deviceIntID: "is another device than deviceID" });
  }
  return [one];
}

async function ofNames({ db }: ExportDeps, tenant: number, text: string): Promise<NamedDevice[]> {
  const names = [...new Set(text.split(",").filter((name) => name !== ""))];
  if (names.length > devicesMax) throw invalid({ deviceID: `at most ${devicesMax} devices` });
  const found = await findDevicesByName(db, tenant, names);
  return names.map((name) => {
    const device = found.get(name);
    if (device === undefined) throw unknown({ deviceID: `unknown: ${name}` });
    return device;
  });
}

async function ofGroup({ db }: ExportDeps, tenant: number, groupID: string): Promise<NamedDevice[]> {
  const devices = await findDevicesOfGroup(db, tenant, groupID, devicesMax + 1);
  if (devices === null) throw unknown({ groupID: "unknown" });
  if (devices.length > devicesMax) throw invalid({ groupID: `a group of at most ${devicesMax} devices` });
  return devices;
}

const unknown = (errors: Readonly<Record<string, string>>) =>
  new ApiError("DATA_NOT_FOUND", "cannot find the device", errors);

async function pointsOf({ catalog }: ExportDeps, { productIntID }: NamedDevice, query: DataQuery) {
  const { points, metrics } = await catalog.model(productIntID);
  const { metricType, metricIntID } = query;
  if (!metricType && !metricIntID) return points.filter((point) => point.dataTransType !== 2);
  const chosen = metrics.filter(
    (metric) =>
      (!metricType || String(metric.metricType) === metricType) &&
      (!metricIntID || String(metric.id) === metricIntID),
  );
  const ids = new Set(chosen.map((metric) => metric.dataPointIntID));
  return points.filter((point) => ids.has(point.id));
}
