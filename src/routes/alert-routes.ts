import { z } from "@hono/zod-openapi";
import { zoneFault } from "../../query/zone.js";
import { StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import { resolveIDs } from "../../store/metadata/db/table.js";
import {
  type AlertRoute,
  type AlertRouteInput,
  alertRouteFilters,
  alertRouteIDs,
  createAlertRoute,
  getAlertRoute,
  groupings,
  listAlertRoutes,
  removeAlertRoutes,
  updateAlertRoute,
} from "../../store/metadata/notifications/alert-routes.js";
import { contactPointIDs } from "../../store/metadata/notifications/contact-points.js";
import { invalid, resourceLimited } from "../http/errors.js";
import { codeField, createBody, editBody, integerField, name, present } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { muteWindowsMax } from "../notifications/mute-windows.js";
import { alertRoute, alertRouteSchema } from "../views/alert-routes.js";
import { checkMatcher, matcherFields, parseMatcher } from "./alert-matcher.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Notifications";
const path = "/api/v1/alert_routes";

const clock = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "must be HH:MM");
const muteWindow = z.strictObject({
  days: z.array(integerField(1, 7)).min(1).max(7).openapi({ description: "of the beginning; 1 is Monday" }),
  from: clock,
  to: clock.openapi({ description: "up to the beginning: on the next day" }),
});

function isZone(text: string, context: z.core.$RefinementCtx): void {
  const message = zoneFault(text);
  if (message !== null) context.addIssue({ code: "custom", message });
}

const contactPointRef = z
  .union([integerField(1), z.object({ id: integerField(1) }).transform(({ id }) => id)])
  .openapi({ anyOf: [{ type: "integer" }, { type: "object", properties: { id: { type: "integer" } } }] });

const required = {
  name,
  contactPoints: z
    .array(contactPointRef)
    .min(1)
    .max(10)
    .openapi({ description: "record ids, or records as they are read" }),
};
const optional = {
  enable: codeField(0, 1),
  ...matcherFields,
  groupBy: z.array(z.enum(groupings)).max(4),
  wait: integerField(0, 3600).openapi({
    description: "seconds from the first alert of a group to its message",
  }),
  groupInterval: integerField(10, 86_400).openapi({
    description: "the least seconds between messages of a group with something new",
  }),
  repeatInterval: integerField(0, 30 * 86_400).openapi({
    description: "seconds after which what goes on is told again; 0: never",
  }),
  sendResolved: codeField(0, 1).openapi({ description: "whether the end of an alert is told" }),
  muteWindows: z
    .array(muteWindow)
    .max(muteWindowsMax)
    .openapi({ description: "when it does not speak, each week" }),
  timezone: z.string().max(64).superRefine(isZone).openapi({
    description: "of the mute windows and of times in texts; null: the deployment's",
  }),
};
const create = createBody(required, optional).openapi("AlertRouteCreate");
const edit = editBody(required, optional).openapi("AlertRouteEdit");

/** What stands for an optional field that is not given. */
const defaults = {
  enable: 1,
  groupBy: ["alertName"],
  wait: 30,
  groupInterval: 300,
  repeatInterval: 14_400,
  sendResolved: 1,
  muteWindows: [],
  timezone: null,
} as const;

const repeatMin = 60;

export function alertRouteRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<AlertRoute>({
      path,
      tag,
      summary: "List alert routes",
      filters: alertRouteFilters,
      schema: alertRouteSchema,
      list: ({ caller }, request) => listAlertRoutes(db, caller.tenant, request),
      view: alertRoute,
    }),
    routes.detail<AlertRoute>({
      path: `${path}/{id}`,
      tag,
      summary: "One alert route",
      ids: alertRouteIDs,
      schema: alertRouteSchema,
      get: ({ caller }, id) => getAlertRoute(db, caller.tenant, id),
      view: alertRoute,
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Create a route: which alerts are told to which contact points, and how often",
      shape: { body: create },
      answer: { status: 201, schema: alertRouteSchema },
      errors: ["DATA_EXISTED", "RESOURCE_LIMITED"],
      handle: async ({ writing, caller, body }) => {
        await check(db, caller.tenant, body);
        const input: AlertRouteInput = {
          ...withDefaults(body),
          ...parseMatcher(body),
          name: body.name,
          contactPoints: body.contactPoints,
        };
        const made = await createAlertRoute(db, caller, now(), input).catch(resourceLimited);
        return { status: 201, body: alertRoute(made, writing) };
      },
    }),
    route({
      method: "put",
      path: `${path}/{id}`,
      access: "write",
      tag,
      summary: "Edit an alert route",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: alertRouteSchema },
      errors: ["DATA_EXISTED"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, alertRouteIDs, params.id);
        await check(db, caller.tenant, body);
        const sent = present(body);
        const own = Object.keys(sent).filter((field) => field in defaults);
        const settled = Object.entries(withDefaults(body)).filter(([field]) => own.includes(field));
        const input = { ...sent, ...Object.fromEntries(settled) } as Partial<AlertRouteInput>;
        const known = await getAlertRoute(db, caller.tenant, id);
        return {
          status: 200,
          body: alertRoute(await updateAlertRoute(db, caller, now(), known, input), writing),
        };
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Delete alert routes; what they have not told yet is told no more",
      ids: alertRouteIDs,
      errors: [],
      remove: ({ caller }, ids) => removeAlertRoutes(db, caller, now(), ids),
    }),
  ];
}

type Body = Partial<z.output<typeof create>> | z.output<typeof edit>;

function withDefaults(body: Body) {
  return {
    enable: body.enable ?? defaults.enable,
    groupBy: [...new Set(body.groupBy ?? defaults.groupBy)],
    wait: body.wait ?? defaults.wait,
    groupInterval: body.groupInterval ?? defaults.groupInterval,
    repeatInterval: body.repeatInterval ?? defaults.repeatInterval,
    sendResolved: body.sendResolved ?? defaults.sendResolved,
    muteWindows: body.muteWindows ?? defaults.muteWindows,
    timezone: body.timezone ?? defaults.timezone,
  };
}

/** @throws ApiError PARAMETER_INVALID */
async function check(db: Db, tenant: number, body: Body): Promise<void> {
  const repeat = body.repeatInterval ?? 0;
  if (repeat > 0 && repeat < repeatMin)
    throw invalid({ repeatInterval: `must be 0, or ${repeatMin} or more` });
  await checkMatcher(db, tenant, body);
  const contacts = body.contactPoints;
  if (contacts === undefined) return;
  if (new Set(contacts).size < contacts.length) throw invalid({ contactPoints: "must be different" });
  await resolveIDs(db, contactPointIDs, tenant, contacts.map(String)).catch((error: unknown) => {
    if (error instanceof StoreError && error.code === "NOT_FOUND") {
      throw invalid({ contactPoints: "must be contact points" });
    }
    throw error;
  });
}
