import { z } from "@hono/zod-openapi";
import { hashChosen } from "../../store/metadata/db/secrets.js";
import {
  createUser,
  getUser,
  listUsers,
  removeUsers,
  type User,
  updateUser,
  userFilters,
  userIDs,
} from "../../store/metadata/users/users.js";
import { createBody, editBody, fixedFields, name, refuseChanged } from "../http/fields.js";
import { newPassword, passwordFairnessKey, revokeApiKeys } from "../http/password-fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, stampOrNull, stampText } from "../http/schemas.js";
import type { Stamped } from "../views/context.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Callers";
const role = z.enum(["admin", "operator", "viewer"]);

const schema = z
  .object({
    id: intSchema,
    username: z.string(),
    role,
    tenantID: z.string(),
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("User");

function view(user: User, { stamp }: Stamped) {
  const { id, username, tenantID } = user;
  return {
    id,
    username,
    role: user.role,
    tenantID,
    createAt: stamp(user.createAt),
    updateAt: stamp(user.updateAt),
  };
}

export function userRoutes(deps: AppDeps): Route[] {
  const { db, authenticator, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<User>({
      path: "/api/v1/users",
      access: "admin",
      tag,
      summary: "List users",
      filters: userFilters,
      schema,
      list: ({ caller }, request) => listUsers(db, caller.tenant, request),
      view,
    }),
    routes.detail<User>({
      path: "/api/v1/users/{id}",
      access: "admin",
      tag,
      summary: "One user",
      ids: userIDs,
      schema,
      get: ({ caller }, id) => getUser(db, caller.tenant, id),
      view,
    }),
    route({
      method: "post",
      path: "/api/v1/users",
      access: "admin",
      tag,
      summary: "Create a user",
      shape: { body: createBody({ username: name, password: newPassword, role }, {}).openapi("UserCreate") },
      answer: { status: 201, schema },
      errors: ["DATA_EXISTED", "SERVICE_UNAVAILABLE"],
      handle: async ({ writing, caller, body }) => {
        const passwordHash = await hashChosen(body.password, passwordFairnessKey(caller));
        const { username } = body;
        const user = await createUser(db, caller, now(), { username, passwordHash, role: body.role });
        return { status: 201, body: view(user, writing) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/users/{id}",
      access: "admin",
      tag,
      summary: "Change a user's role or password; its sessions end, and its API keys where asked",
      shape: {
        params: idParams,
        body: editBody({ password: newPassword, role }, {})
          .extend({ revokeApiKeys, ...fixedFields(["username"]) })
          .openapi("UserEdit"),
      },
      answer: { status: 200, schema },
      errors: ["SERVICE_UNAVAILABLE"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, userIDs, params.id);
        const user = await getUser(db, caller.tenant, id);
        refuseChanged(body, user, ["username"]);
        const edit = {
          ...(body.role === undefined ? {} : { role: body.role }),
          ...(body.password === undefined
            ? {}
            : { passwordHash: await hashChosen(body.password, passwordFairnessKey(caller)) }),
        };
        const edited = await updateUser(db, caller, now(), id, edit, { revokesApiKeys: body.revokeApiKeys });
        // The change feed informs other processes; this one forgets before it answers.
        authenticator.forget({ user: id });
        return { status: 200, body: view(edited, writing) };
      },
    }),
    routes.remove({
      path: "/api/v1/users",
      access: "admin",
      tag,
      summary: "Delete users with their sessions and API keys",
      ids: userIDs,
      remove: async ({ caller }, ids) => {
        await removeUsers(db, caller, now(), ids);
        for (const user of ids) authenticator.forget({ user });
      },
    }),
  ];
}
