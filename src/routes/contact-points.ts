import { z } from "@hono/zod-openapi";
import { notFound } from "../../store/metadata/db/table.js";
import {
  type ContactPoint,
  type ContactPointInput,
  contactPointFilters,
  contactPointIDs,
  contactTypes,
  createContactPoint,
  getContactPoint,
  listContactPoints,
  type OpenContactPoint,
  openContactPoint,
  removeContactPoints,
  updateContactPoint,
} from "../../store/metadata/notifications/contact-points.js";
import { readSettings, settingsSchema } from "../contact-points/settings.js";
import { ApiError, invalid, resourceLimited } from "../http/errors.js";
import {
  codeField,
  createBody,
  editBody,
  fixedFields,
  name,
  present,
  refuseChanged,
} from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema } from "../http/schemas.js";
import { TemplateError } from "../notifications/templates.js";
import { contactPoint, contactPointSchema, languages } from "../views/contact-points.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Notifications";
const path = "/api/v1/contact_points";

const settings = z.looseObject({});
const template = (max: number) => z.string().min(1, "must not be empty").max(max);
const required = { name, settings };
const optional = {
  enable: codeField(0, 1),
  language: z.enum(languages),
  subjectTemplate: template(1024).openapi({
    description: "Liquid; of a webhook, the `subject` of its document",
  }),
  bodyTemplate: template(16_384).openapi({
    description: "Liquid; absent: a text for e-mail, else a JSON document",
  }),
};
const type = z.enum(contactTypes);
const create = createBody({ type, ...required }, optional);
const edit = editBody(required, optional).extend(fixedFields(["type"]));
const createDocument = create.extend({ settings: settingsSchema }).openapi("ContactPointCreate");
const editDocument = edit.extend({ settings: settingsSchema.optional() }).openapi("ContactPointEdit");
const previewBody = createBody(
  { type },
  {
    language: optional.language,
    subjectTemplate: optional.subjectTemplate,
    bodyTemplate: optional.bodyTemplate,
  },
).openapi("ContactPointPreview");

const tested = z
  .object({
    id: intSchema.openapi({ description: "of the notification in the log" }),
    delivered: z.boolean(),
    answer: z.string().openapi({ description: "what the other side said, or why it was not reached" }),
  })
  .openapi("ContactPointTested");
const previewed = z.object({ subject: z.string(), body: z.string() }).openapi("MessagePreview");

export function contactPointRoutes(deps: AppDeps): Route[] {
  return [...recordRoutes(deps), ...trialRoutes(deps)];
}

function recordRoutes(deps: AppDeps): Route[] {
  const { db, now, devices } = deps;
  const ownSender = deps.config.mailServer?.from ?? null;
  const routes = resourceRoutes(deps);
  return [
    routes.list<ContactPoint>({
      path,
      tag,
      summary: "List contact points",
      filters: contactPointFilters,
      schema: contactPointSchema,
      list: ({ caller }, request) => listContactPoints(db, caller.tenant, request),
      view: contactPoint,
    }),
    routes.detail<ContactPoint>({
      path: `${path}/{id}`,
      tag,
      summary: "One contact point",
      ids: contactPointIDs,
      schema: contactPointSchema,
      get: ({ caller }, id) => getContactPoint(db, caller.tenant, id),
      view: contactPoint,
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Create a contact point: a webhook, mail addresses or an MQTT topic",
      shape: { body: create },
      accepts: createDocument,
      answer: { status: 201, schema: contactPointSchema },
      errors: ["DATA_EXISTED", "RESOURCE_LIMITED"],
      handle: async ({ writing, caller, body }) => {
        const read = readSettings(body.type, body.settings, null, ownSender);
        await checkDevice(deps, caller.tenant, read.settings);
        const { subjectTemplate = null, bodyTemplate = null } = body;
        const input = {
          name: body.name,
          type: body.type,
          enable: body.enable ?? 1,
          language: body.language ?? "zh",
          subjectTemplate,
          bodyTemplate,
          ...read,
        };
        const made = await createContactPoint(devices, caller, now(), input).catch(resourceLimited);
        return { status: 201, body: contactPoint(made, writing) };
      },
    }),
    route({
      method: "put",
      path: `${path}/{id}`,
      access: "write",
      tag,
      summary: "Edit a contact point; secrets that are left out stay, unless the address changes",
      shape: { params: idParams, body: edit },
      accepts: editDocument,
      answer: { status: 200, schema: contactPointSchema },
      errors: ["DATA_EXISTED"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, contactPointIDs, params.id);
        const known = await openOwn(deps, caller.tenant, id);
        refuseChanged(body, known, ["type"]);
        const { type: _, settings: sent, ...rest } = present(body);
        const read = sent === undefined ? null : readSettings(known.type, sent, known, ownSender);
        if (read !== null) await checkDevice(deps, caller.tenant, read.settings);
        const input = {
          ...rest,
          ...(rest.enable === null ? { enable: 1 } : {}),
          ...(rest.language === null ? { language: "zh" } : {}),
          ...(read === null ? {} : { settings: read.settings }),
        } as Partial<ContactPointInput>;
        const edited = await updateContactPoint(devices, caller, now(), known, input, read?.secrets ?? null);
        return { status: 200, body: contactPoint(edited, writing) };
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Delete contact points that no route names",
      ids: contactPointIDs,
      remove: ({ caller }, ids) => removeContactPoints(db, caller, now(), ids),
    }),
  ];
}

function trialRoutes(deps: AppDeps): Route[] {
  const { notifier } = deps;
  const routes = resourceRoutes(deps);
  return [
    route({
      method: "post",
      path: `${path}/{id}/test`,
      access: "write",
      tag,
      summary: "Send a test in the built-in texts now; the answer says what came of it",
      shape: { params: idParams },
      answer: { status: 200, schema: tested },
      errors: ["TOO_MANY_REQUESTS"],
      handle: async ({ caller, variant, params }) => {
        const id = await routes.find({ caller, variant }, contactPointIDs, params.id);
        const outcome = await notifier.test(await openOwn(deps, caller.tenant, id));
        if (!("id" in outcome)) {
          const seconds = Math.max(1, Math.ceil((outcome.retryAt - deps.now()) / 1000));
          throw new ApiError("TOO_MANY_REQUESTS", outcome.reason, {}, { "Retry-After": String(seconds) });
        }
        return {
          status: 200,
          body: { id: outcome.id, delivered: outcome.isDelivered, answer: outcome.answer },
        };
      },
    }),
    route({
      method: "post",
      path: `${path}/preview`,
      access: "write",
      tag,
      summary: "What a message to a contact point would say, without one",
      shape: { body: previewBody },
      answer: { status: 200, schema: previewed },
      errors: ["SERVICE_UNAVAILABLE"],
      handle: async ({ caller, body }) => {
        const { subjectTemplate = null, bodyTemplate = null } = body;
        const point = { tenant: caller.tenant, type: body.type, language: body.language ?? "zh" } as const;
        try {
          const { subject, body: text } = await notifier.preview({ ...point, subjectTemplate, bodyTemplate });
          return { status: 200, body: { subject, body: text } };
        } catch (error) {
          if (error instanceof TemplateError) throw invalid({ [`${error.field}Template`]: error.message });
          throw error;
        }
      },
    }),
  ];
}

/** @throws StoreError NOT_FOUND */
async function openOwn({ devices }: AppDeps, tenant: number, id: number): Promise<OpenContactPoint> {
  const point = await openContactPoint(devices, id);
  if (point === undefined || point.tenant !== tenant) throw notFound(String(id));
  return point;
}

/** @throws ApiError PARAMETER_INVALID if the topic is in the space of no device of the tenant */
async function checkDevice(
  { commands }: AppDeps,
  tenant: number,
  { deviceIntID }: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (typeof deviceIntID !== "number") return;
  const found = await commands.target(tenant, { deviceIntID });
  if (found === undefined) throw invalid({ "settings.deviceIntID": "is no device" });
}
