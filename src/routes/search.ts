import { z } from "@hono/zod-openapi";
import { findHits, hitTypes } from "../../store/metadata/search-hits.js";
import { mayCall } from "../http/caller.js";
import { invalid } from "../http/errors.js";
import { wholeNumber } from "../http/list-query.js";
import { type Route, route } from "../http/route.js";
import { ranked, searchHit, searchHitSchema } from "../views/search.js";
import type { AppDeps } from "./deps.js";

const hitsMax = 20;
const textMax = 100;

const query = z.object({
  q: z
    .string()
    .optional()
    .openapi({ description: `what names and string ids contain; 1 to ${textMax} characters` }),
  _limit: z
    .string()
    .optional()
    .openapi({ description: `hits, at most ${hitsMax}, the default` }),
});

export function searchRoutes({ db }: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/search",
      access: "read",
      tag: "Devices",
      summary:
        "Whatever is called so: products, devices, gateways, groups, data points, alert rules, dashboards, users",
      shape: { query },
      answer: { status: 200, schema: z.array(searchHitSchema) },
      handle: async ({ caller, query: { q = "", _limit } }) => {
        const errors: Record<string, string> = {};
        const limit = wholeNumber(_limit || undefined, hitsMax, 1, hitsMax, "_limit", errors);
        if (q === "" || [...q].length > textMax) errors.q = `must have 1 to ${textMax} characters`;
        if (Object.keys(errors).length > 0) throw invalid(errors);
        // Users are shown to administrators alone.
        const types = new Set(hitTypes.filter((type) => type !== "user" || mayCall(caller.role, "admin")));
        const hits = await findHits(db, caller.tenant, q, types, limit);
        return { status: 200, body: ranked(hits, limit).map(searchHit) };
      },
    }),
  ];
}
