import { z } from "@hono/zod-openapi";
import { StoreError } from "../../store/lib/errors.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { ApiError } from "../http/errors.js";
import { listQuery, pageRequest, refusedParameters, refuseParameters } from "../http/list-query.js";
import { pageAnswer } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { idParams, pageSchema } from "../http/schemas.js";
import { listedTexts } from "../http/text-list.js";
import { clientSessionSchema, clientSessionView } from "../views/client-sessions.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

/** Client ids of one request. */
const clientIDsMax = 100;
const path = "/api/v1/devices/{id}/sessions";
const tag = "Devices";
const noFilters = { filters: {} };
const unfiltered = refusedParameters(noFilters, clientSessionSchema);

/** What the clients of a device or gateway have left with this process: MQTT sessions, HTTP inboxes, WebSockets. */
export function clientSessionRoutes(deps: AppDeps): Route[] {
  const { sessions, zone } = deps;
  const routes = resourceRoutes(deps);
  return [
    route({
      method: "get",
      path,
      access: "read",
      tag,
      summary: "Sessions of a device or gateway with this process, the connected ones first",
      shape: { params: idParams, query: listQuery(noFilters) },
      answer: { status: 200, schema: pageSchema(clientSessionSchema) },
      errors: ["DATA_NOT_FOUND"],
      handle: async ({ caller, variant, writing, params, query, request: { url } }) => {
        refuseParameters(url, unfiltered);
        const request = pageRequest(query, noFilters, zone);
        const id = await routes.find({ caller, variant }, anyDeviceIDs, params.id);
        await deps.cluster?.atKeeper(id);
        const all = sessions.of(id);
        const first = (request.page - 1) * request.limit;
        const items = all.slice(first, first + request.limit);
        return pageAnswer({ items, count: all.length }, request, (one) => clientSessionView(one, writing));
      },
    }),
    route({
      method: "delete",
      path,
      access: "write",
      tag,
      summary: "End sessions with their connections; what waits in them is dropped, commands fail",
      shape: {
        params: idParams,
        query: z.object({
          clientIDs: z.string().openapi({
            description: `up to ${clientIDsMax}, separated by commas, each percent-encoded: a comma within one is %2C`,
            example: "dashboard,gateway-7",
          }),
        }),
      },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, variant, params, request: { url } }) => {
        const clientIDs = listedTexts(url, "clientIDs", clientIDsMax);
        const device = await routes.find({ caller, variant }, anyDeviceIDs, params.id);
        await deps.cluster?.atKeeper(device);
        const outcome = await sessions.end({ tenant: caller.tenant, device }, clientIDs);
        if (outcome === "unavailable") {
          throw new StoreError("UNAVAILABLE", "cannot end the sessions: nothing can be kept now");
        }
        if (outcome !== "kept") {
          const clientID = outcome.unknown.slice(0, 64);
          throw new ApiError("DATA_NOT_FOUND", "the device has no such session; nothing was ended", {
            clientIDs: `no session ${JSON.stringify(clientID)}`,
          });
        }
        return { status: 204 };
      },
    }),
  ];
}
