import { z } from "@hono/zod-openapi";
import { rateSeconds } from "../../ingest/rates.js";
import { seriesEngine } from "../config/config.js";
import { isDeployment } from "../http/caller.js";
import { type Route, route } from "../http/route.js";
import { intSchema, stampText } from "../http/schemas.js";
import type { Figures } from "../live/figures.js";
import { createOverview, rateIntervalMs, shownRates } from "../live/overview.js";
import type { Stamped } from "../views/context.js";
import { showZoneHealth, zoneHealth } from "../views/time-zones.js";
import type { AppDeps } from "./deps.js";

const perSecond = z
  .array(intSchema)
  .openapi({ description: `${rateSeconds} figures, oldest first`, example: [0, 12] });

const ratesSchema = z
  .object({
    endTime: intSchema.openapi({ description: "end of the last whole second, milliseconds since 1970" }),
    intervalMs: z.literal(rateIntervalMs),
    messages: perSecond,
    points: perSecond,
  })
  .openapi("Rates");
const refusedSchema = z.array(
  z.object({ reason: z.string(), count: intSchema }).openapi({ example: { reason: "unknown", count: 2 } }),
);
const ms = z.number().min(0);

const overview = z
  .object({
    devices: z
      .object({
        total: intSchema,
        online: intSchema,
        sleeping: intSchema,
        offline: intSchema,
        blocked: intSchema,
      })
      .openapi({ description: "online, sleeping and offline make the total; blocked ones are among them" }),
    gateways: intSchema,
    products: intSchema,
    groups: intSchema,
    currentAlerts: z.object({
      total: intSchema,
      bySeverity: z.array(z.object({ alertSeverity: intSchema, count: intSchema })),
    }),
    rates: ratesSchema
      .nullable()
      .openapi({ description: "null for a tenant that is not counted apart: see the limits" }),
    refused: refusedSchema.openapi({ description: "values and messages of the last 10 minutes" }),
    lag: z.object({ messages: intSchema, seconds: ms }).openapi({
      description: "of all tenants: acknowledged and not readable yet, and for how long the oldest of it",
    }),
    commit: z.object({ p50Ms: ms, p99Ms: ms }),
    disk: z.object({ freeBytes: intSchema, isFull: z.boolean() }),
    deployment: z
      .object({
        rates: ratesSchema,
        refused: refusedSchema,
        connections: intSchema,
        eventLoopDelayP99Ms: ms,
        degraded: z.record(z.string(), z.string()),
        version: z.string(),
        engine: z.enum(["embedded", "influxdb"]),
        timezones: zoneHealth,
        startedAt: stampText,
      })
      .nullable()
      .openapi({ description: "for administrators of the deployment's own tenant" }),
  })
  .openapi("Overview");

/** What the first page of a console shows: of the caller's tenant, and of the service. */
export function overviewRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/overview",
      access: "read",
      tag: "Service",
      summary:
        "Counts and alerts of the tenant, what came in each second of the last 10 minutes, and how the service does",
      answer: { status: 200, schema: overview },
      handle: async ({ caller, writing }) => {
        const isOfDeployment = isDeployment(caller) && caller.role === "admin";
        const own = await createOverview(deps, caller.tenant);
        const all = isOfDeployment ? await deps.figures(null) : null;
        const body = { ...own.overview, deployment: all && showDeployment(deps, all, writing) };
        const isPart = own.truncated || all?.truncated === true;
        const headers = { "Cache-Control": "no-store", ...(isPart ? { Truncated: "true" } : {}) };
        return { status: 200, body, headers };
      },
    }),
  ];
}

function showDeployment({ status, build, config, now }: AppDeps, all: Figures, { stamp }: Stamped): object {
  const { eventLoopDelayP99Ms, startedAt } = status.figures();
  const notReady = status.notReady();
  return {
    rates: shownRates(all),
    refused: all.rates?.refused ?? [],
    connections: all.connections,
    eventLoopDelayP99Ms,
    degraded: { ...status.degraded(), ...(notReady === null ? {} : { uplinks: notReady }) },
    version: build.version,
    engine: seriesEngine(config),
    timezones: showZoneHealth(config.timeZones, now()),
    startedAt: stamp(startedAt),
  };
}
