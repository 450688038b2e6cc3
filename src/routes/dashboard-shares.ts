import { z } from "@hono/zod-openapi";
import { readRequestMs } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";
import { readInteger } from "../../store/lib/number-text.js";
import { dashboardIDs } from "../../store/metadata/dashboards/dashboards.js";
import {
  createShare,
  getShare,
  listShares,
  removeShares,
  type Share,
  type ShareInput,
  shareFilters,
  updateShare,
} from "../../store/metadata/dashboards/shares.js";
import { newSecret } from "../../store/metadata/db/ids.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";
import { isOrigin } from "../config/web-addresses.js";
import { sharedPagePath } from "../dashboards/shared-page.js";
import { ApiError, invalid, resourceLimited } from "../http/errors.js";
import { codeField, createBody, editBody, name, present } from "../http/fields.js";
import { idsQuery, idTexts } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { share, shareSchema } from "../views/dashboard-shares.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

/** The shares of a dashboard, for those who manage it; what they show is in shared.ts. */

const tag = "Dashboards";
const path = "/api/v1/dashboards/{id}/shares";

const origin = z
  .string()
  .max(255)
  .refine(isOrigin, "must be an origin, such as https://intranet.example.com")
  .openapi({ example: "https://intranet.example.com" });
const required = { name };
const optional = {
  allowedOrigins: z
    .array(origin)
    .max(10)
    .openapi({ description: "whose pages may show it in a frame; none: no page" }),
  expiresAt: z.string().openapi({ description: "the forms of startTime; null: never" }),
  enable: codeField(0, 1),
};
const shareParams = idParams.extend({
  shareID: z
    .string()
    .openapi({ param: { name: "shareID", in: "path" }, description: "record id of the share", example: "1" }),
});

export function dashboardShareRoutes(deps: AppDeps): Route[] {
  const { config, db, now, zone } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Share>({
      path,
      tag,
      summary: "List the shares of a dashboard; their tokens are never shown again",
      filters: shareFilters,
      secret: ["token"],
      schema: shareSchema,
      parent: dashboardIDs,
      list: ({ caller }, request, parent) => listShares(db, caller.tenant, request, parent),
      view: share,
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Share a dashboard: whoever has the token, which is shown this once, sees it as it is now",
      shape: { params: idParams, body: createBody(required, optional).openapi("DashboardShareCreate") },
      answer: {
        status: 201,
        schema: shareSchema
          .extend({
            token: z.string(),
            path: z.string().openapi({
              description: "of the page that shows it; what stands behind # never leaves the browser",
              example: "/console/shared/dGhpc…#c2VjcmV0…",
            }),
          })
          .openapi("DashboardShareMade"),
      },
      errors: ["RESOURCE_LIMITED"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const dashboard = await routes.find({ caller, variant }, dashboardIDs, params.id);
        const token = newSecret();
        const input = {
          name: body.name,
          allowedOrigins: body.allowedOrigins ?? [],
          expiresAt: readExpiry(body.expiresAt ?? null, zone, now()),
          enable: body.enable ?? 1,
        };
        const hash = hashGenerated(token);
        const made = await createShare(db, caller, now(), dashboard, input, hash).catch(resourceLimited);
        const path = sharedPagePath(config.basePath, token);
        return { status: 201, body: { ...share(made, writing), token, path } };
      },
    }),
    route({
      method: "put",
      path: `${path}/{shareID}`,
      access: "write",
      tag,
      summary: "Edit a share: turn it off and on, let other origins frame it, let it end at another time",
      shape: { params: shareParams, body: editBody(required, optional).openapi("DashboardShareEdit") },
      answer: { status: 200, schema: shareSchema },
      handle: async ({ writing, caller, variant, params, body }) => {
        const dashboard = await routes.find({ caller, variant }, dashboardIDs, params.id);
        const known = await getShare(db, caller.tenant, dashboard, recordID(params.shareID));
        const { expiresAt, allowedOrigins, enable, ...rest } = present(body);
        const input: Partial<ShareInput> = {
          ...rest,
          ...(allowedOrigins === undefined ? {} : { allowedOrigins: allowedOrigins ?? [] }),
          ...(enable === undefined ? {} : { enable: enable ?? 1 }),
          ...(expiresAt === undefined ? {} : { expiresAt: readExpiry(expiresAt, zone, now()) }),
        };
        return { status: 200, body: share(await updateShare(db, caller, now(), known, input), writing) };
      },
    }),
    route({
      method: "delete",
      path,
      access: "write",
      tag,
      summary: "Revoke shares: their tokens show nothing from now on",
      shape: { params: idParams, query: idsQuery },
      answer: { status: 204 },
      handle: async ({ caller, variant, params, query }) => {
        const dashboard = await routes.find({ caller, variant }, dashboardIDs, params.id);
        const ids = idTexts(query).map(recordID);
        await removeShares(db, caller, now(), dashboard, [...new Set(ids)]);
        return { status: 204 };
      },
    }),
  ];
}

/** @throws ApiError DATA_NOT_FOUND for a text that is no record id */
function recordID(text: string): number {
  const id = readInteger(text);
  if (id === null || id <= 0) throw new ApiError("DATA_NOT_FOUND", `cannot find the record: ${text}`);
  return id;
}

/** Milliseconds since 1970. @throws ApiError PARAMETER_INVALID for a time that is past */
function readExpiry(text: string | null, place: Zone, now: number): number | null {
  if (text === null) return null;
  const expiresAt = readRequestMs(text, place, "expiresAt");
  if (expiresAt <= now) throw invalid({ expiresAt: "must be in the future" });
  return expiresAt;
}
