/** The data of one panel of a shared dashboard: the queries that the panel has, and no others. */
import { z } from "@hono/zod-openapi";
import { createComputing } from "../../query/formula/computing.js";
import { readRequestTime, rfc3339, wallText } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";
import { listAlerts } from "../../store/metadata/alerts/alerts.js";
import type { Filter } from "../../store/metadata/db/table.js";
import { readDashboardTime } from "../dashboards/dashboard-time.js";
import {
  findSharedTarget,
  type SharedDocument,
  type SharedPanel,
  type SharedSpan,
  sharedRange,
} from "../dashboards/shared.js";
import type { ProductModel } from "../devices/catalog.js";
import { conditionalAnswer } from "../http/conditional-response.js";
import { ApiError, invalid } from "../http/errors.js";
import type { Reservation } from "../http/response-budget.js";
import type { RouteAnswer, Variant } from "../http/route.js";
import type { Writing } from "../http/writing.js";
import { alertForms } from "./alerts.js";
import { createBudget, formOfTimes } from "./data-answers.js";
import { type ChartQuery, type ChartRequest, originalQuery, readChartQuery } from "./data-query.js";
import { metricItemSchema, originalItemSchema } from "./data-schemas.js";
import type { AppDeps } from "./deps.js";
import { viewQuery } from "./device-places.js";
import { metricItems } from "./metrics-data.js";
import { originalItems } from "./original-data.js";
import { answerMap, mapSchema } from "./shared-map.js";

/** The range and form that a visitor may choose. */
export const panelQuery = originalQuery
  .pick({ startTime: true, endTime: true, timezone: true, timeFormat: true, limit: true, maxPoints: true })
  .extend(viewQuery.shape);
type PanelQuery = z.output<typeof panelQuery>;

const alertSchema = z.union([alertForms.history.schema, alertForms.current.schema]);
const pointSchema = z
  .object({
    dataPointName: z.string(),
    unitSymbol: z.string().nullable(),
    lowerLimit: z.number().nullable(),
    upperLimit: z.number().nullable(),
  })
  .openapi("SharedDataPoint");
export const sharedPanelSchema = z
  .union([
    z.object({
      type: z.enum(["chart", "value", "table"]),
      startTime: z.string(),
      endTime: z.string(),
      series: z.array(z.array(z.union([metricItemSchema, originalItemSchema]))).openapi({
        description: "by series of the panel: what metrics_data or original_data answer of it",
      }),
      points: z.array(pointSchema.nullable()).openapi({
        description: "by series of the panel: the data point that it shows; null for metrics",
      }),
    }),
    z.object({ type: z.literal("alerts"), alerts: z.array(alertSchema) }),
    mapSchema,
  ])
  .openapi("SharedPanelData");

interface PanelRequest {
  readonly tenant: number;
  readonly document: SharedDocument;
  readonly place: Zone;
  readonly variant: Variant;
  readonly writing: Writing;
  readonly request: Request;
  readonly hold: Reservation | null;
}

type DataPanel = Exclude<SharedPanel, { readonly type: "text" }>;
type SeriesPanel = Extract<SharedPanel, { readonly type: "chart" | "value" | "table" }>;
type AlertsPanel = Extract<SharedPanel, { readonly type: "alerts" }>;

const maxPointsDefault = "2000";
const alertsMax = 100;

/** @throws ApiError PARAMETER_INVALID, TOO_MANY_REQUESTS */
export function answerPanel(
  deps: AppDeps,
  panelRequest: PanelRequest,
  panel: DataPanel,
  query: PanelQuery,
): Promise<RouteAnswer> {
  switch (panel.type) {
    case "map":
      return answerMap(deps, panelRequest, panel, query);
    case "alerts":
      return answerAlerts(deps, panelRequest, panel, query);
    default:
      return answerSeries(deps, panelRequest, panel, query);
  }
}

/** Milliseconds since 1970. @throws ApiError PARAMETER_INVALID if nothing of what is asked for is shared */
function parseRange(
  { now }: AppDeps,
  { document, place }: PanelRequest,
  query: PanelQuery,
  compare = "",
): SharedSpan {
  const at = now();
  const { range } = document;
  const own = {
    start: readDashboardTime(range.start, place, at, "startTime"),
    end: readDashboardTime(range.end, place, at, "endTime"),
  };
  const bound = (text: string | undefined, field: "start" | "end"): Partial<SharedSpan> =>
    text ? { [field]: readRequestTime(text, place, `${field}Time`) / 1000 } : {};
  const asked = { ...bound(query.startTime, "start"), ...bound(query.endTime, "end") };
  const compareMs = compare === "" ? 0 : at - readDashboardTime(compare, place, at, "startTime");
  const found = sharedRange(own, asked, compareMs);
  if (found !== null) return found;
  throw invalid({ [query.startTime ? "startTime" : "endTime"]: "is not within the time that is shared" });
}

async function answerSeries(
  deps: AppDeps,
  panelRequest: PanelRequest,
  panel: SeriesPanel,
  query: PanelQuery,
): Promise<RouteAnswer> {
  const { tenant, document, place, request, hold, writing } = panelRequest;
  const { start, end } = parseRange(deps, panelRequest, query, panel.compare);
  const means = {
    signal: request.signal,
    budget: createBudget(hold),
    computing: createComputing(deps.config.formulaSecondsMax),
    writing,
  };
  let errors = 0;
  let truncated = false;
  let form = "";
  const series: object[][] = [];
  const points: (z.output<typeof pointSchema> | null)[] = [];
  for (const [i, { deviceID, dataPointIntID, metricIntID }] of panel.series.entries()) {
    points[i] = null;
    const target = findSharedTarget(document, deviceID, "device");
    const items = async (): Promise<object[]> => {
      if (target === null) return [];
      const asked = await readChartQuery(deps, tenant, {
        ...(target.type === "group" ? { groupID: target.id } : { deviceID: target.id }),
        ...(metricIntID === undefined ? {} : { metricIntID: String(metricIntID) }),
        time_unit: panel.unit,
        startTime: rfc3339(Math.floor(start) * 1000),
        endTime: rfc3339(Math.ceil(end) * 1000),
        timezone: place.name,
        fill: panel.fill,
        timeFormat: query.timeFormat,
        ...(query.limit
          ? { limit: query.limit, maxPoints: query.maxPoints }
          : { maxPoints: query.maxPoints || maxPointsDefault }),
      } satisfies ChartQuery);
      form = formOfTimes(asked);
      points[i] = await findPoint(deps, asked, dataPointIntID);
      if (metricIntID !== undefined) {
        const found = await metricItems(deps, asked, ({ id }) => id === metricIntID, means);
        errors += found.errors;
        return [...found.items];
      }
      const { signal, budget } = means;
      const choose = ({ points }: ProductModel) => points.filter(({ id }) => id === dataPointIntID);
      const found = await originalItems(deps, asked, choose, signal, budget);
      truncated ||= found.truncated;
      return found.items;
    };
    series.push(await items().catch(noneIfGone));
  }
  const headers: Record<string, string> = {
    ...(errors > 0 ? { "Formula-Errors": String(errors) } : {}),
    ...(truncated ? { Truncated: "true" } : {}),
  };
  const [startTime, endTime] = [start, end].map((ms) => wallText(place, ms));
  return conditionalAnswer(request, { type: panel.type, startTime, endTime, series, points }, headers, form);
}

/** What an axis and its limits need to know of a data point. */
async function findPoint(
  { catalog }: AppDeps,
  { devices }: ChartRequest,
  id: number | undefined,
): Promise<z.output<typeof pointSchema> | null> {
  if (id === undefined) return null;
  for (const product of new Set(devices.map(({ productIntID }) => productIntID))) {
    const found = (await catalog.model(product)).points.find((point) => point.id === id);
    if (found === undefined) continue;
    const { dataPointName, unitSymbol, lowerLimit, upperLimit } = found;
    return { dataPointName, unitSymbol, lowerLimit, upperLimit };
  }
  return null;
}

/** A device or metric that has been deleted since leaves the panel's other series as they are. */
function noneIfGone(error: unknown): object[] {
  if (error instanceof ApiError && error.errorCode === "DATA_NOT_FOUND") return [];
  throw error;
}

async function answerAlerts(
  deps: AppDeps,
  panelRequest: PanelRequest,
  { filters }: AlertsPanel,
  query: PanelQuery,
): Promise<RouteAnswer> {
  const { tenant, document, variant, writing } = panelRequest;
  const { state, alertSeverity, alertName, deviceID, productID } = filters;
  const targets = [
    [deviceID, "device"],
    [productID, "product"],
  ] as const;
  const found: Filter[] = [];
  if (alertSeverity !== undefined) found.push({ field: "alertSeverity", like: false, value: alertSeverity });
  if (alertName !== undefined) found.push({ field: "alertName", like: false, value: alertName });
  for (const [text, type] of targets) {
    if (text === undefined) continue;
    const target = findSharedTarget(document, text, type);
    if (target === null) return { status: 200, body: { type: "alerts", alerts: [] } };
    found.push({ field: `${type}ID`, like: false, value: target.id });
  }
  if (state === "history") {
    const { start, end } = parseRange(deps, panelRequest, query);
    found.push({ field: "startTime", like: false, value: start * 1000, until: end * 1000 });
  }
  const request = { page: 1, limit: alertsMax, filters: found };
  const page = await listAlerts(deps.db, tenant, state, request);
  const context = { ...writing, variant, secrets: false };
  const { view } = alertForms[state];
  return { status: 200, body: { type: "alerts", alerts: page.items.map((one) => view(one, context)) } };
}
