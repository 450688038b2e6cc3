import { z } from "@hono/zod-openapi";
import type { Dashboard, DashboardWithDocument } from "../../store/metadata/dashboards/dashboards.js";
import type { Revision, RevisionWithDocument } from "../../store/metadata/dashboards/revisions.js";
import { type DashboardDocument, documentSchema } from "../dashboards/document.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

export const dashboardListedSchema = z
  .object({
    id: intSchema,
    name: z.string(),
    description: textOrNull,
    version: intSchema,
    createUser: textOrNull,
    updateUser: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("DashboardListed");
export const dashboardSchema = dashboardListedSchema
  .extend({ document: documentSchema })
  .openapi("Dashboard");

export function dashboardListed(one: Dashboard, { stamp }: Stamped) {
  return {
    id: one.id,
    name: one.name,
    description: one.description,
    version: one.version,
    createUser: one.createUser,
    updateUser: one.updateUser,
    createAt: stamp(one.createAt),
    updateAt: stamp(one.updateAt),
  };
}

export function dashboard(one: DashboardWithDocument, context: Stamped) {
  return { ...dashboardListed(one, context), document: JSON.parse(one.document) as DashboardDocument };
}

export const revisionListedSchema = z
  .object({ version: intSchema, createUser: textOrNull, createAt: stampText })
  .openapi("DashboardRevisionListed");
export const revisionSchema = revisionListedSchema
  .extend({ document: documentSchema })
  .openapi("DashboardRevision");

export function revisionListed({ version, createUser, createAt }: Revision, { stamp }: Stamped) {
  return { version, createUser, createAt: stamp(createAt) };
}

export function revision(one: RevisionWithDocument, context: Stamped) {
  return { ...revisionListed(one, context), document: JSON.parse(one.document) as DashboardDocument };
}
