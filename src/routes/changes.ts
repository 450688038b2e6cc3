import { z } from "@hono/zod-openapi";
import { type Change, changeFilters, listChanges } from "../../store/changes.js";
import { fromJson } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import { listQuery, pageAnswer, pageRequest } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { int, intOrNull, pageOf, stampText, textOrNull } from "../http/schemas.js";
import type { Stamp } from "../views/time.js";

const schema = z
  .object({
    id: int,
    at: stampText,
    userIntID: intOrNull,
    username: textOrNull,
    action: z.enum(["create", "update", "delete"]),
    entity: z.string(),
    recordID: int,
    detail: z.unknown(),
  })
  .openapi("Change");

function view(change: Change, stamp: Stamp) {
  const { id, userIntID, username, action, entity, recordID } = change;
  return {
    id,
    at: stamp(change.at),
    userIntID,
    username,
    action,
    entity,
    recordID,
    detail: fromJson(change.detail),
  };
}

export function changeRoutes({ db, stamp }: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/changes",
      access: "admin",
      tag: "Callers",
      summary: "Who changed what, when",
      shape: { query: listQuery(changeFilters) },
      answer: { status: 200, schema: pageOf(schema) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, changeFilters);
        const page = await listChanges(db, caller.tenant, request);
        return pageAnswer(page, request, (change) => view(change, stamp));
      },
    }),
  ];
}
