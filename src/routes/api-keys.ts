import { z } from "@hono/zod-openapi";
import { readRequestMs } from "../../query/time-text.js";
import { longID, newSecret } from "../../store/metadata/db/ids.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";
import {
  type ApiKey,
  apiKeyFilters,
  apiKeyIDs,
  createApiKey,
  getApiKey,
  listApiKeys,
  removeApiKeys,
} from "../../store/metadata/users/api-keys.js";
import { invalid } from "../http/errors.js";
import { createBody, name } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "../views/context.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Callers";
const role = z.enum(["admin", "operator", "viewer"]);

const schema = z
  .object({
    id: intSchema,
    name: textOrNull,
    appID: z.string(),
    role,
    userIntID: intSchema,
    username: z.string(),
    expiresAt: stampOrNull,
    createAt: stampText,
  })
  .openapi("ApiKey");

function view(key: ApiKey, { stamp }: Stamped) {
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

export function apiKeyRoutes(deps: AppDeps): Route[] {
  const { db, authenticator, now, zone } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<ApiKey>({
      path: "/api/v1/api_keys",
      access: "admin",
      tag,
      summary: "List API keys",
      filters: apiKeyFilters,
      secret: ["appSecret"],
      schema,
      list: ({ caller }, request) => listApiKeys(db, caller.tenant, request),
      view,
    }),
    routes.detail<ApiKey>({
      path: "/api/v1/api_keys/{id}",
      access: "admin",
      tag,
      summary: "One API key",
      ids: apiKeyIDs,
      schema,
      get: ({ caller }, id) => getApiKey(db, caller.tenant, id),
      view,
    }),
    route({
      method: "post",
      path: "/api/v1/api_keys",
      access: "admin",
      tag,
      summary: "Create an API key; its secret is shown this once",
      shape: { body: createBody({}, { name, role, expiresAt: z.string() }).openapi("ApiKeyCreate") },
      answer: { status: 201, schema: schema.extend({ appSecret: z.string() }).openapi("ApiKeyMade") },
      handle: async ({ writing, caller, body }) => {
        const appSecret = newSecret();
        const expiresAt = body.expiresAt ? readRequestMs(body.expiresAt, zone, "expiresAt") : null;
        if (expiresAt !== null && expiresAt <= now()) throw invalid({ expiresAt: "must be in the future" });
        const key = await createApiKey(db, caller, now(), {
          userIntID: caller.userIntID,
          name: body.name ?? null,
          appID: longID(),
          secretHash: hashGenerated(appSecret),
          role: body.role ?? caller.role,
          expiresAt,
        });
        return { status: 201, body: { ...view(key, writing), appSecret } };
      },
    }),
    routes.remove({
      path: "/api/v1/api_keys",
      access: "admin",
      tag,
      summary: "Revoke API keys",
      ids: apiKeyIDs,
      errors: [],
      remove: async ({ caller }, ids) => {
        await removeApiKeys(db, caller, now(), ids);
        for (const apiKey of ids) authenticator.forget({ apiKey });
      },
    }),
  ];
}
