import { z } from "@hono/zod-openapi";
import { readRequestTime, wallText } from "../../query/time-text.js";
import { seriesEngine } from "../config/config.js";
import { requireDeployment } from "../http/caller.js";
import { ApiError } from "../http/errors.js";
import { integerField } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { intSchema } from "../http/schemas.js";
import { showZoneHealth, zoneHealth } from "../views/time-zones.js";
import type { AppDeps } from "./deps.js";

const tag = "Service";
const state = z.object({ status: z.string() });
const holdSecondsMax = 600;

export function serviceRoutes(deps: AppDeps): Route[] {
  const { config, build, status, now, zone, replaySince, holdForBackup } = deps;
  return [
    route({
      method: "get",
      path: "/healthz",
      access: "public",
      tag,
      summary: "The process lives",
      answer: {
        status: 200,
        schema: state.extend({
          version: z.string(),
          commit: z.string().nullable(),
          engine: z.enum(["embedded", "influxdb"]),
          timezones: zoneHealth,
        }),
      },
      handle: () => {
        const timezones = showZoneHealth(config.timeZones, now());
        return { status: 200, body: { status: "ok", ...build, engine: seriesEngine(config), timezones } };
      },
    }),
    route({
      method: "get",
      path: "/readyz",
      access: "public",
      tag,
      summary: "Uplinks are taken; the body names what is degraded",
      answer: { status: 200, schema: state.extend({ degraded: z.record(z.string(), z.string()) }) },
      errors: ["SERVICE_UNAVAILABLE"],
      handle: () => {
        const reason = status.notReady();
        const degraded = status.degraded();
        if (reason !== null) {
          const errors = { ...degraded, uplinks: reason };
          throw new ApiError("SERVICE_UNAVAILABLE", "uplinks are not taken", errors, { "Retry-After": "5" });
        }
        const word = Object.keys(degraded).length > 0 ? "degraded" : "ok";
        return { status: 200, body: { status: word, degraded } };
      },
    }),
    route({
      method: "get",
      path: "/metrics",
      access: "admin",
      tag,
      summary: "Prometheus metrics",
      answer: { status: 200, schema: z.string(), type: "text/plain" },
      handle: ({ caller }) => {
        requireDeployment(caller);
        const type = "text/plain; version=0.0.4; charset=utf-8";
        return { status: 200, body: status.metrics(), type };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/time",
      access: "read",
      tag,
      summary: "The service's clock",
      answer: {
        status: 200,
        schema: z.object({
          time: intSchema,
          text: z.string().openapi({ example: "2026-11-21 10:00:00" }),
          timezone: z.string(),
        }),
      },
      handle: () => {
        const time = now();
        return { status: 200, body: { time, text: wallText(zone, time), timezone: zone.name } };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/resettle",
      access: "admin",
      tag,
      summary: "Write the points of the kept messages since a time into the series store once more",
      shape: { body: z.object({ startTime: z.string() }) },
      answer: { status: 200, schema: z.object({ messages: intSchema, points: intSchema }) },
      handle: async ({ caller, body }) => {
        requireDeployment(caller);
        const since = readRequestTime(body.startTime, zone, "startTime") / 1000;
        return { status: 200, body: await replaySince(since) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/backup_hold",
      access: "admin",
      tag,
      summary: "Keep what retention and removals would take, while a backup copies the data folder",
      shape: { body: z.object({ seconds: integerField(0, holdSecondsMax) }) },
      answer: { status: 200, schema: z.object({ journalID: intSchema, journalIDs: z.array(intSchema) }) },
      handle: async ({ caller, body }) => {
        requireDeployment(caller);
        const journalIDs = await holdForBackup(body.seconds);
        return { status: 200, body: { journalID: Math.max(0, ...journalIDs), journalIDs: [...journalIDs] } };
      },
    }),
  ];
}
