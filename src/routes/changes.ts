import { z } from "@hono/zod-openapi";
import { type Change, changeFilters, listChanges } from "../../store/metadata/db/changes.js";
import { fromJson } from "../../store/metadata/db/table.js";
import type { Route } from "../http/route.js";
import { intOrNull, intSchema, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "../views/context.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const schema = z
  .object({
    id: intSchema,
    at: stampText,
    userIntID: intOrNull,
    username: textOrNull,
    action: z.enum(["create", "update", "delete"]),
    entity: z.string(),
    recordID: intSchema,
    detail: z.unknown(),
  })
  .openapi("Change");

function view(change: Change, { stamp }: Stamped) {
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

export function changeRoutes(deps: AppDeps): Route[] {
  return [
    resourceRoutes(deps).list<Change>({
      path: "/api/v1/changes",
      access: "admin",
      tag: "Callers",
      summary: "Who changed what, when",
      filters: changeFilters,
      range: "at",
      schema,
      list: ({ caller }, request) => listChanges(deps.db, caller.tenant, request),
      view,
    }),
  ];
}
