import { z } from "@hono/zod-openapi";
import { withoutControls } from "../../store/lib/control-characters.js";
import { StoreError } from "../../store/lib/errors.js";
import { newSecret } from "../../store/metadata/db/ids.js";
import { hashChosen, hashGenerated } from "../../store/metadata/db/secrets.js";
import { createSession, removeSession } from "../../store/metadata/users/login-sessions.js";
import { updateUser } from "../../store/metadata/users/users.js";
import { bearerOf } from "../http/auth.js";
import { ApiError, invalid } from "../http/errors.js";
import { newPassword, payerOf, revokeApiKeys } from "../http/password-fields.js";
import { type Route, route } from "../http/route.js";
import { int, stampText } from "../http/schemas.js";
import type { AppDeps } from "./deps.js";

const tag = "Callers";
const sessionMs = 24 * 3_600_000;

const loginName = z.string().max(255).regex(withoutControls, "must not hold control characters");

const me = z
  .object({ userIntID: int, username: z.string(), tenantID: z.string(), role: z.string() })
  .openapi("Me");

export function sessionRoutes({ db, authenticator, now, stamp }: AppDeps): Route[] {
  return [
    route({
      method: "post",
      path: "/api/v1/login",
      access: "public",
      tag,
      summary: "Log in",
      shape: { body: z.object({ username: loginName, password: z.string().max(1024) }) },
      answer: { status: 201, schema: me.extend({ token: z.string(), expiresAt: stampText }) },
      errors: ["AUTH_FAILED", "TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"],
      handle: async ({ body, address }) => {
        const user = await authenticator.passwords.check(body.username, body.password, address);
        const token = newSecret();
        const createAt = now();
        const expiresAt = createAt + sessionMs;
        if (
          user === null ||
          !(await createSession(db, user, hashGenerated(token), { createAt, expiresAt }))
        ) {
          throw new ApiError("AUTH_FAILED", "unknown user or wrong password", { token: "missing or wrong" });
        }
        const { username, tenantID, role } = user;
        return {
          status: 201,
          body: { token, userIntID: user.id, username, tenantID, role, expiresAt: stamp(expiresAt) },
        };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/logout",
      access: "read",
      tag,
      summary: "End the session of this token",
      answer: { status: 204 },
      handle: async ({ request }) => {
        const session = sessionOf(request);
        await removeSession(db, session);
        authenticator.forget({ session });
        return { status: 204 };
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
      handle: async ({ caller, body, request, address }) => {
        const user = await authenticator.passwords.check(caller.username, body.password, address);
        if (user === null) throw notPresent();
        const passwordHash = await hashChosen(body.newPassword, payerOf(caller));
        const aftermath = {
          shown: user.passwordHash,
          staying: sessionOf(request),
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
      handle: ({ caller: { userIntID, username, tenantID, role } }) => ({
        status: 200,
        body: { userIntID, username, tenantID, role },
      }),
    }),
  ];
}

const notPresent = () => invalid({ password: "is not the present one" });

/** The hash under which a session is stored; nothing is stored under that of an API key. */
function sessionOf(request: Request): string {
  return hashGenerated(bearerOf(request.headers.get("authorization") ?? ""));
}
