import { z } from "@hono/zod-openapi";
import { type Route, route } from "../http/route.js";
import { historyTypes } from "../import-export/points/limits.js";
import { dataFormats, readFormat, streamFormat, streamOriginal } from "./data-export.js";
import { chartQuery, originalQuery, parameter } from "./data-query.js";
import { metricItemSchema, originalItemSchema } from "./data-schemas.js";
import type { AppDeps } from "./deps.js";
import { answerMetrics } from "./metrics-data.js";
import { answerOriginal } from "./original-data.js";

const tag = "Data";
const formatText = `${dataFormats.join(", ")}; absent: what the header Accept prefers`;

export function dataRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/metrics_data",
      access: "read",
      tag,
      summary: "Formula and aggregate values of the metrics of one or several devices",
      shape: { query: chartQuery.extend({ format: parameter("json, and nothing else yet") }) },
      answer: {
        status: 200,
        schema: z.array(metricItemSchema),
      },
      errors: ["DATA_NOT_FOUND"],
      making: "series",
      handle: ({ caller, query, ...asker }) => {
        readFormat(["json"], query.format);
        return answerMetrics(deps, caller.tenant, query, asker);
      },
    }),
    route({
      method: "get",
      path: "/api/v1/original_data",
      access: "read",
      tag,
      summary: "Raw points of one or several devices",
      shape: { query: originalQuery.extend({ format: parameter(formatText) }) },
      answer: {
        status: 200,
        texts: Object.values(historyTypes),
        schema: z.array(originalItemSchema),
      },
      errors: ["DATA_NOT_FOUND", "TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"],
      making: "series",
      handle: ({ caller, query, request, hold }) => {
        const format = streamFormat(request, query.format);
        return format === null
          ? answerOriginal(deps, caller.tenant, query, request, hold)
          : streamOriginal(deps, caller.tenant, query, request, format);
      },
    }),
  ];
}
