import { z } from "@hono/zod-openapi";
import {
  assertVersion,
  createDashboard,
  type Dashboard,
  type DashboardWithDocument,
  dashboardFilters,
  dashboardIDs,
  getDashboard,
  listDashboards,
  removeDashboards,
  updateDashboard,
} from "../../store/metadata/dashboards/dashboards.js";
import {
  getRevision,
  listRevisions,
  type Revision,
  revisionFilters,
} from "../../store/metadata/dashboards/revisions.js";
import { documentSchema } from "../dashboards/document.js";
import { readDocument } from "../dashboards/read-document.js";
import { invalid, resourceLimited } from "../http/errors.js";
import { createBody, editBody, integerField, name, present, textField } from "../http/fields.js";
import { wholeNumber } from "../http/list-query.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import {
  dashboard,
  dashboardListed,
  dashboardListedSchema,
  dashboardSchema,
  revision,
  revisionListed,
  revisionListedSchema,
  revisionSchema,
} from "../views/dashboards.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Dashboards";
const path = "/api/v1/dashboards";

const required = { name, document: z.unknown() };
const optional = { description: textField };
const create = createBody(required, optional);
const version = { version: integerField(1) };
const edit = editBody(required, optional).extend(version);
const createDocument = createBody({ name, document: documentSchema }, optional).openapi("DashboardCreate");
const editDocument = editBody({ name, document: documentSchema }, optional)
  .extend({ version: version.version.openapi({ description: "the version that was edited" }) })
  .openapi("DashboardEdit");

const revisionParams = idParams.extend({
  version: z
    .string()
    .openapi({ param: { name: "version", in: "path" }, description: "version", example: "1" }),
});

export function dashboardRoutes(deps: AppDeps): Route[] {
  return [...readRoutes(deps), ...writeRoutes(deps), ...revisionRoutes(deps)];
}

function readRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Dashboard>({
      path,
      tag,
      summary: "List dashboards, without their documents",
      filters: dashboardFilters,
      schema: dashboardListedSchema,
      list: ({ caller }, request) => listDashboards(db, caller.tenant, request),
      view: dashboardListed,
    }),
    routes.detail<DashboardWithDocument>({
      path: `${path}/{id}`,
      tag,
      summary: "One dashboard",
      ids: dashboardIDs,
      schema: dashboardSchema,
      get: ({ caller }, id) => getDashboard(db, caller.tenant, id),
      view: dashboard,
    }),
  ];
}

function writeRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Create a dashboard",
      shape: { body: create },
      accepts: createDocument,
      answer: { status: 201, schema: dashboardSchema },
      errors: ["DATA_EXISTED", "RESOURCE_LIMITED"],
      handle: async ({ writing, caller, body }) => {
        const document = await readDocument(body.document, now());
        const input = {
          name: body.name,
          description: body.description ?? null,
          document: JSON.stringify(document),
        };
        const made = await createDashboard(db, caller, now(), input).catch(resourceLimited);
        return { status: 201, body: dashboard(made, writing) };
      },
    }),
    route({
      method: "put",
      path: `${path}/{id}`,
      access: "write",
      tag,
      summary: "Edit a dashboard; 409 unless `version` is its present one",
      shape: { params: idParams, body: edit },
      accepts: editDocument,
      answer: { status: 200, schema: dashboardSchema },
      errors: ["DATA_EXISTED", "RESOURCE_LIMITED", "VERSION_CONFLICT"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, dashboardIDs, params.id);
        const known = await getDashboard(db, caller.tenant, id);
        assertVersion(known, body.version);
        const { version: _, document: sent, ...rest } = present(body);
        const document =
          sent === undefined ? {} : { document: JSON.stringify(await readDocument(sent, now())) };
        const edited = await updateDashboard(db, caller, now(), known, { ...rest, ...document }).catch(
          resourceLimited,
        );
        return { status: 200, body: dashboard(edited, writing) };
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Delete dashboards, with their revisions and shares",
      ids: dashboardIDs,
      errors: [],
      remove: ({ caller }, ids) => removeDashboards(db, caller, now(), ids),
    }),
  ];
}

function revisionRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Revision>({
      path: `${path}/{id}/revisions`,
      tag,
      summary: "List the versions of a dashboard that are kept, the present one among them",
      filters: revisionFilters,
      schema: revisionListedSchema,
      parent: dashboardIDs,
      list: ({ caller }, request, parent) => listRevisions(db, caller.tenant, request, parent),
      view: revisionListed,
    }),
    route({
      method: "get",
      path: `${path}/{id}/revisions/{version}`,
      access: "read",
      tag,
      summary: "One version of a dashboard, with its document",
      shape: { params: revisionParams },
      answer: { status: 200, schema: revisionSchema },
      handle: async ({ writing, caller, variant, params }) => {
        const errors: Record<string, string> = {};
        const asked = wholeNumber(params.version, 1, 1, Number.MAX_SAFE_INTEGER, "version", errors);
        if (errors.version !== undefined) throw invalid(errors);
        const id = await routes.find({ caller, variant }, dashboardIDs, params.id);
        return { status: 200, body: revision(await getRevision(db, caller.tenant, id, asked), writing) };
      },
    }),
  ];
}
