import { z } from "@hono/zod-openapi";
import { withoutControls } from "../../store/lib/control-characters.js";
import { StoreError } from "../../store/lib/errors.js";
import { newSecret } from "../../store/metadata/db/ids.js";
import { hashChosen, hashGenerated } from "../../store/metadata/db/secrets.js";
import { createSession, removeSession } from "../../store/metadata/users/login-sessions.js";
import { updateUser } from "../../store/metadata/users/users.js";
import { version } from "../host/version.js";
import { type Access, type ApiCaller, isDeployment, mayCall } from "../http/caller.js";
import { ApiError, invalid } from "../http/errors.js";
import { newPassword, passwordFairnessKey, revokeApiKeys } from "../http/password-fields.js";
import { type Route, route } from "../http/route.js";
import { intSchema, stampText } from "../http/schemas.js";
import { idleMs, longestMs, requireSameOrigin } from "../http/session-cookie.js";
import type { AppDeps } from "./deps.js";

const tag = "Callers";
const sessionMs = 24 * 3_600_000;

const loginName = z.string().max(255).regex(withoutControls, "must not hold control characters");

const identity = z
  .object({ userIntID: intSchema, username: z.string(), tenantID: z.string(), role: z.string() })
  .openapi("Identity");
const accesses = ["read", "write", "command", "admin"] as const satisfies readonly Access[];
const me = identity
  .extend({
    rights: z.array(z.enum(accesses)).openapi({ description: "what the caller may do" }),
    isDeployment: z
      .boolean()
      .openapi({ description: "whether the tenant is the one that runs the deployment" }),
    timezone: z.string().openapi({ description: "of the deployment, IANA" }),
    variant: z.enum(["A", "B"]).openapi({ description: "of the deployment" }),
    version: z.string(),
    mapTiles: z
      .object({
        attribution: z.string().openapi({ description: "to be shown wherever the tiles are" }),
        dark: z.enum(["invert", "dim"]).openapi({ description: "how to make them fit for a dark page" }),
      })
      .nullable()
      .openapi({ description: "the tiles of `map_tiles`; null: there are none" }),
  })
  .openapi("Me");
const credentials = z.object({
  username: loginName,
  password: z.string().max(1024),
  cookie: z.boolean().optional().openapi({
    description: "true: the token comes in a cookie that scripts cannot read, and not in the answer",
  }),
});

export function sessionRoutes(deps: AppDeps): Route[] {
  const { db, authenticator, config, cookies, now } = deps;
  return [
    route({
      method: "post",
      path: "/api/v1/login",
      access: "public",
      tag,
      summary: "Log in",
      shape: { body: credentials },
      answer: {
        status: 201,
        schema: identity.extend({ token: z.string().optional(), expiresAt: stampText }),
      },
      errors: ["AUTH_FAILED", "PERMISSION_DENIED", "TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"],
      handle: async ({ body, address, request, isSecure, writing }) => {
        const inCookie = body.cookie === true;
        // Another site must not log its visitors in as somebody else.
        if (inCookie) requireSameOrigin(request);
        const user = await authenticator.passwords.check(body.username, body.password, address);
        const token = newSecret();
        const createAt = now();
        const times = inCookie
          ? { createAt, expiresAt: createAt + idleMs, endsAt: createAt + longestMs }
          : { createAt, expiresAt: createAt + sessionMs, endsAt: null };
        if (user === null || !(await createSession(db, user, hashGenerated(token), times))) {
          throw new ApiError("AUTH_FAILED", "unknown user or wrong password", { token: "missing or wrong" });
        }
        const { username, tenantID, role } = user;
        return {
          status: 201,
          headers: inCookie ? cookies.header(token, isSecure()) : {},
          body: {
            ...(inCookie ? {} : { token }),
            userIntID: user.id,
            username,
            tenantID,
            role,
            expiresAt: writing.stamp(times.expiresAt),
          },
        };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/logout",
      access: "read",
      tag,
      summary: "End the session of this token or cookie",
      answer: { status: 204 },
      handle: async ({ caller, request, isSecure }) => {
        const session = sessionID(caller);
        if (session !== "") {
          await removeSession(db, session);
          authenticator.forget({ session });
        }
        const hasCookie = cookies.tokenOf(request.headers.get("cookie"), isSecure()) !== null;
        return { status: 204, headers: hasCookie ? cookies.header(null, isSecure()) : {} };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/me/password",
      access: "read",
      tag,
      summary: "Change one's own password; one's other sessions end, and one's API keys where asked",
      shape: {
        body: z
          .object({ password: z.string().max(1024), newPassword, revokeApiKeys })
          .openapi("PasswordEdit"),
      },
      answer: { status: 204 },
      errors: ["TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, body, address }) => {
        const user = await authenticator.passwords.check(caller.username, body.password, address);
        if (user === null) throw notPresent();
        const passwordHash = await hashChosen(body.newPassword, passwordFairnessKey(caller));
        const aftermath = {
          shown: user.passwordHash,
          staying: sessionID(caller),
          revokesApiKeys: body.revokeApiKeys,
        };
        await updateUser(db, caller, now(), user.id, { passwordHash }, aftermath).catch((error: unknown) => {
          throw error instanceof StoreError && error.code === "DENIED" ? notPresent() : error;
        });
        authenticator.forget({ user: caller.userIntID });
        return { status: 204 };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/me",
      access: "read",
      tag,
      summary: "Who calls",
      answer: { status: 200, schema: me },
      handle: ({ caller }) => {
        const { userIntID, username, tenantID, role } = caller;
        return {
          status: 200,
          body: {
            ...{ userIntID, username, tenantID, role, version },
            rights: accesses.filter((access) => mayCall(role, access)),
            isDeployment: isDeployment(caller),
            timezone: config.timezone,
            variant: config.apiVariant,
            mapTiles: config.mapTiles && {
              attribution: config.mapTiles.attribution,
              dark: config.mapTiles.dark,
            },
          },
        };
      },
    }),
  ];
}

const notPresent = () => invalid({ password: "is not the present one" });

/** The hash under which the caller's session is stored; empty for an API key, under which nothing is. */
const sessionID = ({ credential }: ApiCaller): string => ("session" in credential ? credential.session : "");
