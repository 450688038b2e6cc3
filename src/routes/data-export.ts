import { toBounds } from "../../query/range.js";
import { createShares, type Shares } from "../../store/lib/shares.js";
import { acceptsGzip, parseQualities } from "../http/conditional-response.js";
import { ApiError, invalid } from "../http/errors.js";
import { attachment } from "../http/file-answer.js";
import type { RouteAnswer } from "../http/route.js";
import type { TimeStyle } from "../import-export/points/export-messages.js";
import { type PlannedDevice, planExport } from "../import-export/points/export-plan.js";
import { openExport } from "../import-export/points/export-stream.js";
import { type HistoryFormat, historyFormats, historyTypes } from "../import-export/points/limits.js";
import {
  type ChartQuery,
  type ChartRequest,
  listRequestedPoints,
  parseOneOf,
  type QueryDeps,
  readChartQuery,
} from "./data-query.js";
import type { AppDeps } from "./deps.js";

/** Raw points of any range as a stream of rows, without a limit. */

type ExportDeps = QueryDeps & Pick<AppDeps, "series" | "refs">;

/** Streams at once; each has its own thread. */
const streamsMax = 8;
const streams = new WeakMap<AppDeps["series"], Shares<number>>();

export const dataFormats = ["json", ...historyFormats] as const;

/**
 * The row format that `format` asks for, or that the caller prefers to JSON; null if JSON is equally welcome.
 * @throws ApiError PARAMETER_INVALID naming format
 */
export function streamFormat(request: Request, format: string | undefined): HistoryFormat | null {
  const asked = readFormat(dataFormats, format);
  if (asked === null) return acceptedFormat(request);
  return asked === "json" ? null : asked;
}

/** Null if absent. @throws ApiError PARAMETER_INVALID naming format */
export function readFormat<const Formats extends readonly string[]>(
  formats: Formats,
  format: string | undefined,
): Formats[number] | null {
  const errors: Record<string, string> = {};
  const found = parseOneOf(formats, format, "format", errors);
  if (errors.format !== undefined) throw invalid(errors);
  return found;
}

function acceptedFormat(request: Request): HistoryFormat | null {
  const wanted = parseQualities(request.headers.get("accept"));
  const of = (type: string) => wanted.get(type) ?? 0;
  const json = wanted.get("application/json") ?? Math.max(of("application/*"), of("*/*"));
  const [best] = (["csv", "ndjson"] as const)
    .map((format) => ({ format, weight: of(historyTypes[format]) }))
    .sort((a, b) => b.weight - a.weight);
  return best !== undefined && best.weight > json ? best.format : null;
}

/** @throws ApiError PARAMETER_INVALID, DATA_NOT_FOUND, TOO_MANY_REQUESTS */
export async function streamOriginal(
  deps: ExportDeps,
  tenant: number,
  query: ChartQuery,
  request: Request,
  format: HistoryFormat,
): Promise<RouteAnswer> {
  const asked = await readChartQuery(deps, tenant, query);
  const { devices } = asked;
  // Without a startTime the stream begins with the first point; a window unit has its own default range.
  const range = toBounds(asked.range("real"));
  const exported: PlannedDevice[] = [];
  for (const device of devices) {
    const model = await deps.catalog.model(device.productIntID);
    exported.push({ ...device, points: listRequestedPoints(model, asked) });
  }
  const gzip = acceptsGzip(request.headers.get("accept-encoding"));
  const form = { format, layout: asked.layout ?? "long", times: timeStyle(asked, query), gzip };
  const { plan, series } = planExport(deps.refs, form, exported);
  const open = (closed: () => void) =>
    openExport(deps.series.under(request.signal), { plan, series, range, closed });
  // A HEAD reads none of the data that a GET would.
  const body = request.method === "HEAD" ? "" : await counted(deps, tenant, open);
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

/** As in answers, `iso` is UTC and `timezone` counts where no form is asked for; with its offset, nothing is lost. */
function timeStyle({ format, timezone }: ChartRequest, query: ChartQuery): TimeStyle {
  if (format === "ms") return "ms";
  return format === "text" && query.timezone ? { timezone } : "utc";
}

async function counted<T>(
  { series }: ExportDeps,
  tenant: number,
  open: (closed: () => void) => Promise<T>,
): Promise<T> {
  const running = streams.get(series) ?? createShares<number>(streamsMax);
  streams.set(series, running);
  if (!running.take(tenant, 1)) {
    throw new ApiError(
      "TOO_MANY_REQUESTS",
      `at most ${streamsMax} exports may run at once, those of one tenant leave a place to others`,
      {},
      { "Retry-After": "5" },
    );
  }
  let closed = false;
  const close = (): void => {
    if (!closed) running.give(tenant, 1);
    closed = true;
  };
  try {
    return await open(close);
  } catch (error) {
    close();
    throw error;
  }
}
