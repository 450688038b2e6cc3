/** The query of the data endpoints, in a body. */
import { z } from "@hono/zod-openapi";
import type { ChartQuery } from "./data-query.js";

/** A time as the data endpoints read it. */
export const timeOrText = z
  .union([z.string().max(64), z.number()])
  .openapi({ type: ["string", "number"], description: "the forms of the data endpoints" });

export function parseChartQuery(body: object, fields: readonly string[]): ChartQuery {
  const given = Object.entries(body).filter(
    ([field, value]) => fields.includes(field) && value !== undefined && value !== null,
  );
  return Object.fromEntries(given.map(([field, value]) => [field, String(value)])) as ChartQuery;
}
