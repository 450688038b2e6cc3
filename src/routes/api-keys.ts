import { z } from "@hono/zod-openapi";
import { readRequestTime } from "../../query/time-text.js";
import {
  type ApiKey,
  apiKeyFilters,
  apiKeyIDs,
  createApiKey,
  getApiKey,
  listApiKeys,
  removeApiKeys,
} from "../../store/api-keys.js";
import { longID, newSecret } from "../../store/ids.js";
import { hashGenerated } from "../../store/secrets.js";
import { resolveIDs } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import { invalid } from "../http/errors.js";
import { createBody, name } from "../http/fields.js";
import { idsQuery, idTexts, listQuery, only, pageAnswer, pageRequest } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { idParams, int, pageOf, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamp } from "../views/time.js";

const tag = "Callers";
const role = z.enum(["admin", "operator", "viewer"]);

const schema = z
  .object({
    id: int,
    name: textOrNull,
    appID: z.string(),
    role,
    userIntID: int,
    username: z.string(),
    expiresAt: stampOrNull,
    createAt: stampText,
  })
  .openapi("ApiKey");

function view(key: ApiKey, stamp: Stamp) {
  const { id, appID, userIntID, username } = key;
  return {
    id,
    name: key.name,
    appID,
    role: key.role,
    userIntID,
    username,
    expiresAt: stamp(key.expiresAt),
    createAt: stamp(key.createAt),
  };
}

export function apiKeyRoutes({ db, authenticator, now, stamp, zone }: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/api_keys",
      access: "admin",
      tag,
      summary: "List API keys",
      shape: { query: listQuery(apiKeyFilters) },
      answer: { status: 200, schema: pageOf(schema) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, apiKeyFilters);
        const page = await listApiKeys(db, caller.tenant, request);
        return pageAnswer(page, request, (key) => view(key, stamp));
      },
    }),
    route({
      method: "get",
      path: "/api/v1/api_keys/{id}",
      access: "admin",
      tag,
      summary: "One API key",
      shape: { params: idParams },
      answer: { status: 200, schema },
      handle: async ({ caller, params }) => {
        const id = only(await resolveIDs(db, apiKeyIDs, caller.tenant, [params.id]));
        return { status: 200, body: view(await getApiKey(db, caller.tenant, id), stamp) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/api_keys",
      access: "admin",
      tag,
      summary: "Create an API key; its secret is shown this once",
      shape: { body: createBody({}, { name, role, expiresAt: z.string() }) },
      answer: { status: 201, schema: schema.extend({ appSecret: z.string() }) },
      handle: async ({ caller, body }) => {
        const appSecret = newSecret();
        const expiresAt = body.expiresAt ? readRequestTime(body.expiresAt, zone, "expiresAt") / 1000 : null;
        if (expiresAt !== null && expiresAt <= now()) throw invalid({ expiresAt: "must be in the future" });
        const key = await createApiKey(db, caller, now(), {
          userIntID: caller.userIntID,
          name: body.name ?? null,
          appID: longID(),
          secretHash: hashGenerated(appSecret),
          role: body.role ?? caller.role,
          expiresAt: expiresAt === null ? null : Math.floor(expiresAt),
        });
        return { status: 201, body: { ...view(key, stamp), appSecret } };
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/api_keys",
      access: "admin",
      tag,
      summary: "Revoke API keys",
      shape: { query: idsQuery },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND"],
      handle: async ({ caller, query }) => {
        const ids = await resolveIDs(db, apiKeyIDs, caller.tenant, idTexts(query));
        await removeApiKeys(db, caller, now(), ids);
        authenticator.forget();
        return { status: 204 };
      },
    }),
  ];
}
