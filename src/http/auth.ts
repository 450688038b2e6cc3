import { createHmac, randomBytes } from "node:crypto";
import { createBackOff } from "../../ingest/back-off.js";
import { findApiKey } from "../../store/api-keys.js";
import type { Actor } from "../../store/changes.js";
import type { Db } from "../../store/db.js";
import { hashGenerated, verifySecret } from "../../store/secrets.js";
import { findSession } from "../../store/sessions.js";
import type { Role } from "../../store/users.js";
import { ApiError } from "./errors.js";

/** Who calls: always bound to one tenant. */
export interface Caller extends Actor {
  readonly tenantID: string;
  readonly userIntID: number;
  readonly username: string;
  readonly role: Role;
}

/** What a route asks of its caller. */
export type Access = "public" | "read" | "write" | "command" | "admin";

const granted: Readonly<Record<Role, ReadonlySet<Access>>> = {
  admin: new Set<Access>(["read", "write", "command", "admin"]),
  operator: new Set<Access>(["read", "write", "command"]),
  viewer: new Set<Access>(["read"]),
};

/** The tenant of the first start runs the deployment. */
const deploymentTenant = 1;

export function isDeployment(caller: Caller): boolean {
  return caller.tenant === deploymentTenant;
}

/** What concerns every tenant is for the deployment's own. @throws ApiError PERMISSION_DENIED */
export function requireDeployment(caller: Caller): void {
  if (isDeployment(caller)) return;
  throw new ApiError("PERMISSION_DENIED", "only the deployment's own tenant may do this");
}

export function mayCall(role: Role, access: Access): boolean {
  return access === "public" || granted[role].has(access);
}

export interface Authenticator {
  /** @throws ApiError AUTH_FAILED, LOGIN_REQUIRED, TOO_MANY_REQUESTS */
  caller(authorization: string | undefined, address: string): Promise<Caller>;
  /** Forgets every remembered credential: a user, a key or a session has changed. */
  forget(): void;
  readonly failures: Backoff;
}

const rememberedMs = 60_000;
const rememberedMax = 10_000;

export function createAuthenticator(db: Db, now: () => number): Authenticator {
  const cacheKey = randomBytes(32);
  const remembered = new Map<string, { caller: Caller; until: number }>();
  const failures = createBackoff(now);
  const underWay = new Map<string, Promise<{ caller: Caller; until: number }>>();
  /** Moves when everything is forgotten: what was being verified meanwhile is not remembered. */
  let generation = 0;

  async function verify(authorization: string, address: string): Promise<{ caller: Caller; until: number }> {
    const key = apiKeyOf(authorization);
    if (key === null) return fromSession(authorization.replace(/^Bearer\s+/i, ""));
    const backoffKey = `${address} ${key.appID}`;
    failures.attempt(backoffKey);
    const found = await findApiKey(db, key.appID);
    const right = found !== undefined && (await verifySecret(key.appSecret, found.secretHash));
    if (!right || (found.expiresAt !== null && found.expiresAt <= now())) throw denied();
    failures.succeeded(backoffKey);
    const { tenant, tenantID, userIntID, username, role } = found;
    return {
      caller: { tenant, tenantID, userIntID, username, role },
      until: Math.min(now() + rememberedMs, found.expiresAt ?? Number.POSITIVE_INFINITY),
    };
  }

  async function fromSession(token: string): Promise<{ caller: Caller; until: number }> {
    const found = await findSession(db, hashGenerated(token));
    if (found === undefined) throw denied();
    if (found.expiresAt <= now()) {
      throw new ApiError("LOGIN_REQUIRED", "the session has expired, log in again", { token: "expired" });
    }
    const { tenant, tenantID, userIntID, username, role } = found;
    return {
      caller: { tenant, tenantID, userIntID, username, role },
      until: Math.min(now() + rememberedMs, found.expiresAt),
    };
  }

  return {
    failures,
    forget: () => {
      generation++;
      remembered.clear();
    },
    caller: async (authorization, address) => {
      if (authorization === undefined) throw denied();
      const digest = createHmac("sha256", cacheKey).update(authorization).digest("base64");
      const known = remembered.get(digest);
      if (known !== undefined && known.until > now()) return known.caller;
      const began = generation;
      // Requests that come together with one credential are verified once.
      let verifying = underWay.get(digest);
      if (verifying === undefined) {
        verifying = verify(authorization, address).finally(() => underWay.delete(digest));
        underWay.set(digest, verifying);
      }
      const verified = await verifying;
      if (began !== generation) return verified.caller;
      if (remembered.size >= rememberedMax) remembered.clear();
      remembered.set(digest, verified);
      return verified.caller;
    },
  };
}

function denied(): ApiError {
  return new ApiError(
    "AUTH_FAILED",
    "missing or wrong credentials",
    { token: "missing or wrong" },
    { "WWW-Authenticate": "Bearer" },
  );
}

/** `Basic base64(appID:appSecret)` or `Bearer appID:appSecret`; null for a session's bearer token. */
function apiKeyOf(authorization: string): { appID: string; appSecret: string } | null {
  const [, scheme = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(authorization) ?? [];
  const kind = scheme.toLowerCase();
  if (kind !== "basic" && kind !== "bearer") throw denied();
  const text = kind === "basic" ? Buffer.from(rest, "base64").toString("utf8") : rest;
  const at = text.indexOf(":");
  if (at < 0) {
    if (kind === "basic") throw denied();
    return null;
  }
  return { appID: text.slice(0, at), appSecret: text.slice(at + 1) };
}

/** Slows down guessing of one (address, name). */
export interface Backoff {
  /** Counts as a failure until `succeeded` says otherwise. @throws ApiError TOO_MANY_REQUESTS while the wait lasts */
  attempt(key: string): void;
  succeeded(key: string): void;
}

const freeFailures = 5;

export function createBackoff(now: () => number): Backoff {
  const failures = createBackOff(now, freeFailures);
  return {
    attempt: (key) => {
      const leftMs = failures.attempt(key);
      if (leftMs === 0) return;
      const headers = { "Retry-After": String(Math.ceil(leftMs / 1000)) };
      throw new ApiError("TOO_MANY_REQUESTS", "too many failed attempts, try again later", {}, headers);
    },
    succeeded: failures.succeeded,
  };
}
