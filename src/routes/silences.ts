import { readRequestMs } from "../../query/time-text.js";
import {
  createSilence,
  getSilence,
  listSilences,
  removeSilences,
  type Silence,
  type SilenceInput,
  silenceFilters,
  silenceIDs,
  updateSilence,
} from "../../store/metadata/notifications/silences.js";
import { invalid, resourceLimited } from "../http/errors.js";
import { createBody, editBody, present, textField } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, stampGiven } from "../http/schemas.js";
import { silence, silenceSchema } from "../views/silences.js";
import { checkMatcher, matcherFields, parseMatcher } from "./alert-matcher.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Notifications";
const path = "/api/v1/silences";
const lengthMaxMs = 366 * 86_400_000;

const required = { endTime: stampGiven };
const optional = {
  startTime: stampGiven.openapi({ description: "absent: now" }),
  ...matcherFields,
  comment: textField,
};
const create = createBody(required, optional).openapi("SilenceCreate");
const edit = editBody(required, optional).openapi("SilenceEdit");

export function silenceRoutes(deps: AppDeps): Route[] {
  const { db, now, zone } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Silence>({
      path,
      tag,
      summary: "List silences, those that have ended included",
      filters: silenceFilters,
      schema: silenceSchema,
      list: ({ caller }, request) => listSilences(db, caller.tenant, request),
      view: silence,
    }),
    routes.detail<Silence>({
      path: `${path}/{id}`,
      tag,
      summary: "One silence",
      ids: silenceIDs,
      schema: silenceSchema,
      get: ({ caller }, id) => getSilence(db, caller.tenant, id),
      view: silence,
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Tell nobody of some alerts for a while; those that still go on at its end are told then",
      shape: { body: create },
      answer: { status: 201, schema: silenceSchema },
      errors: ["RESOURCE_LIMITED"],
      handle: async ({ writing, caller, body }) => {
        const at = now();
        await checkMatcher(db, caller.tenant, body);
        const startTime = body.startTime == null ? at : readRequestMs(body.startTime, zone, "startTime");
        const endTime = readRequestMs(body.endTime, zone, "endTime");
        checkSpan({ startTime, endTime }, at);
        const input = { ...parseMatcher(body), startTime, endTime, comment: body.comment ?? null };
        return {
          status: 201,
          body: silence(await createSilence(db, caller, at, input).catch(resourceLimited), writing),
        };
      },
    }),
    route({
      method: "put",
      path: `${path}/{id}`,
      access: "write",
      tag,
      summary: "Edit a silence",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: silenceSchema },
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, silenceIDs, params.id);
        const known = await getSilence(db, caller.tenant, id);
        await checkMatcher(db, caller.tenant, body);
        const { startTime, endTime, ...rest } = present(body);
        const at = now();
        const input: Partial<SilenceInput> = {
          ...rest,
          ...(startTime === undefined
            ? {}
            : { startTime: startTime === null ? at : readRequestMs(startTime, zone, "startTime") }),
          ...(endTime === undefined ? {} : { endTime: readRequestMs(endTime, zone, "endTime") }),
        };
        if (startTime !== undefined || endTime !== undefined) checkSpan({ ...known, ...input }, 0);
        return { status: 200, body: silence(await updateSilence(db, caller, at, known, input), writing) };
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Delete silences; alerts that they kept back and that still go on are told within a minute",
      ids: silenceIDs,
      errors: [],
      remove: ({ caller }, ids) => removeSilences(db, caller, now(), ids),
    }),
  ];
}

/** @param after it must end later than that */
function checkSpan({ startTime, endTime }: Pick<Silence, "startTime" | "endTime">, after: number): void {
  if (endTime <= startTime) throw invalid({ endTime: "must be after startTime" });
  if (endTime <= after) throw invalid({ endTime: "is past" });
  if (endTime - startTime > lengthMaxMs) throw invalid({ endTime: "must be within 366 days of startTime" });
}
