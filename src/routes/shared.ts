import { z } from "@hono/zod-openapi";
import { storedZone, type Zone, zone } from "../../query/zone.js";
import { ifNotFound } from "../../store/lib/errors.js";
import { getDashboard } from "../../store/metadata/dashboards/dashboards.js";
import type { Share } from "../../store/metadata/dashboards/shares.js";
import { type DashboardDocument, documentSchema } from "../dashboards/document.js";
import { type SharedDocument, sharedDocument } from "../dashboards/shared.js";
import { ApiError } from "../http/errors.js";
import { type Route, route } from "../http/route.js";
import { zoneRules, zoneShown } from "../views/time-zones.js";
import type { AppDeps } from "./deps.js";
import { answerPanel, panelQuery, sharedPanelSchema } from "./shared-panels.js";

/** What the token of a share shows: one dashboard as it is now, and the data of its panels. */

const tag = "Dashboards";

const shown = z
  .object({
    name: z.string(),
    // Without its command panels.
    document: documentSchema,
    allowedOrigins: z.array(z.string()),
    timezone: z.string().openapi({ description: "IANA, or `browser`", example: "Asia/Shanghai" }),
    zone: zoneRules,
  })
  .openapi("SharedDashboard");

const zoneQuery = z.object({
  timezone: z.string().optional().openapi({
    description: "IANA time zone whose rules are wanted; absent: the dashboard's own, or the deployment's",
  }),
});
const panelParams = z.object({
  panelID: z
    .string()
    .openapi({ param: { name: "panelID", in: "path" }, description: "id of a panel", example: "climate" }),
});

export function sharedRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/shared",
      access: "share",
      tag,
      summary: "The dashboard of a share, by `Authorization: Share <token>`",
      shape: { query: zoneQuery },
      answer: { status: 200, schema: shown },
      handle: async ({ share, query }) => {
        const one = granted(share);
        const { allowedOrigins } = one;
        const { name, document } = await openShared(deps, one);
        const timezone = document.timezone === "deployment" ? deps.zone.name : document.timezone;
        const place = query.timezone ? zone(query.timezone) : ownZone(document, deps.zone);
        return { status: 200, body: { name, document, allowedOrigins, timezone, zone: zoneShown(place) } };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/shared/panels/{panelID}/data",
      access: "share",
      tag,
      summary:
        "What a panel of a shared dashboard shows now; its range may be moved within twelve times the dashboard's",
      shape: { params: panelParams, query: panelQuery },
      answer: { status: 200, schema: sharedPanelSchema },
      making: "series",
      handle: async ({ share, params, query, variant, writing, request, hold }) => {
        const one = granted(share);
        const { document } = await openShared(deps, one);
        const panel = document.panels.find(({ id }) => id === params.panelID);
        if (panel === undefined || panel.type === "text") {
          throw new ApiError("DATA_NOT_FOUND", "cannot find a panel with data", { panelID: "unknown" });
        }
        const place = query.timezone ? zone(query.timezone) : ownZone(document, deps.zone);
        return answerPanel(
          deps,
          { tenant: one.tenant, document, place, variant, writing, request, hold },
          panel,
          query,
        );
      },
    }),
  ];
}

/** The zone that a document names; where it is the browser's, the deployment's. */
function ownZone({ timezone, variables }: SharedDocument, deploymentZone: Zone): Zone {
  const named = variables.find(({ type }) => type === "timezone")?.value ?? timezone;
  return named === "deployment" || named === "browser" ? deploymentZone : storedZone(named);
}

/** The frame lets nobody in without a share. */
function granted(share: Share | null): Share {
  if (share === null) throw new ApiError("AUTH_FAILED", "missing or wrong token of a share");
  return share;
}

/** @throws ApiError DATA_NOT_FOUND if the dashboard has been deleted this moment */
async function openShared(
  { db }: AppDeps,
  { tenant, dashboardIntID }: Share,
): Promise<{ readonly name: string; readonly document: SharedDocument }> {
  const found = await getDashboard(db, tenant, dashboardIntID).catch(ifNotFound(null));
  if (found === null) throw new ApiError("DATA_NOT_FOUND", "cannot find the dashboard");
  return {
    name: found.name,
    document: sharedDocument(JSON.parse(found.document) as DashboardDocument),
  };
}
