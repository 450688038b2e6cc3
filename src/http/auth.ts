import { createHmac, randomBytes } from "node:crypto";
import { addressBlock } from "../../ingest/access/address-block.js";
import { createBackOff } from "../../ingest/access/back-off.js";
import type { Clock } from "../../store/lib/clock.js";
import { hasControls } from "../../store/lib/control-characters.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { hashGenerated, isSlow, verifySecret } from "../../store/metadata/db/secrets.js";
import type { Credential } from "../../store/metadata/db/standing.js";
import { findApiKey } from "../../store/metadata/users/api-keys.js";
import { findSession } from "../../store/metadata/users/login-sessions.js";
import type { Role } from "../../store/metadata/users/users.js";
import { ApiError } from "./errors.js";
import { createPasswords, freeFailures, type Passwords, waitsFor } from "./passwords.js";
import { createSlowSecrets } from "./slow-secrets.js";

/** Who calls: always bound to one tenant. */
export interface Caller extends Actor {
  readonly tenantID: string;
  readonly userIntID: number;
  readonly username: string;
  readonly role: Role;
  readonly credential: Credential;
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

/** Whose credentials are no longer what they were: those of a user, one API key, or one session by its token's hash. */
type Forgotten = { readonly user: number } | Credential;

export interface Authenticator {
  /** @throws ApiError AUTH_FAILED, LOGIN_REQUIRED, TOO_MANY_REQUESTS */
  caller(authorization: string | undefined, address: string): Promise<Caller>;
  /** Forgets these remembered credentials, and nobody else's. */
  forget(of: Forgotten): void;
  readonly passwords: Passwords;
}

/** A secret that a person chose, and the slow hash of it that the metadata have. */
export interface ChosenSecret {
  readonly appSecret: string;
  readonly secretHash: string;
}

/** API keys are counted by address, whatever they are. */
const anyKey = "";
const rememberedMs = 60_000;
const rememberedMax = 10_000;

interface Verified {
  readonly caller: Caller;
  /** Monotonic milliseconds. */
  readonly until: number;
  /** Its own end, milliseconds since 1970; infinite without one. */
  readonly expiresAt: number;
}

interface Verifying {
  readonly verified: Promise<Verified>;
  /** What was to be forgotten meanwhile: it may have been read before. */
  readonly missed: Forgotten[];
}

/** `chosen`: a slow hash that this process need not compute again. */
export function createAuthenticator(
  db: Db,
  { now, monotonic }: Clock,
  chosen: ChosenSecret | null = null,
): Authenticator {
  const processKey = randomBytes(32);
  const keyed = (text: string) => createHmac("sha256", processKey).update(text).digest("base64");
  const remembered = new Map<string, Verified>();
  const underWay = new Map<string, Verifying>();
  const guesses = createBackOff(monotonic, freeFailures);
  const secrets = createSlowSecrets();
  if (chosen !== null) secrets.add(chosen.appSecret, chosen.secretHash);

  async function verify(authorization: string, address: string): Promise<Verified> {
    const key = apiKeyOf(authorization);
    if (key === null) return fromSession(bearerOf(authorization));
    const { appID, appSecret } = key;
    const found = hasControls(appID) ? undefined : await findApiKey(db, appID);
    if (found === undefined || !(await isRight(appSecret, found.secretHash, address)))
      throw wrongKey(address);
    if (found.expiresAt !== null && found.expiresAt <= now()) throw denied();
    const { id: apiKey, tenant, tenantID, userIntID, username } = found;
    const role = lowerOf(found.role, found.userRole);
    return {
      caller: { tenant, tenantID, userIntID, username, role, credential: { apiKey } },
      until: monotonic() + rememberedMs,
      expiresAt: found.expiresAt ?? Number.POSITIVE_INFINITY,
    };
  }

  /**
   * A key that is right gets in whatever else comes from its address: telling costs nothing. One that only a slow
   * hash can tell of, another process's API_KEY, waits its turn until it has been right once.
   */
  async function isRight(secret: string, hash: string, address: string): Promise<boolean> {
    if (!isSlow(hash)) return verifySecret(secret, hash);
    const known = secrets.recall(secret, hash);
    if (known !== undefined) return known;
    const leftMs = guesses.attempt(address, anyKey);
    if (leftMs > 0) throw waitsFor(leftMs);
    const right = await secrets.verify(secret, hash, addressBlock(address)).catch((error: unknown) => {
      guesses.undecided(address, anyKey);
      throw error;
    });
    if (!right) throw denied();
    guesses.undecided(address, anyKey);
    return true;
  }

  /** Counted by address alone: what is guessed is no name, and whether a key exists is nobody's business. */
  function wrongKey(address: string): ApiError {
    const leftMs = guesses.attempt(address, anyKey);
    return leftMs > 0 ? waitsFor(leftMs) : denied();
  }

  async function fromSession(token: string): Promise<Verified> {
    const session = hashGenerated(token);
    const found = await findSession(db, session);
    if (found === undefined) throw denied();
    if (found.expiresAt <= now()) {
      throw new ApiError("LOGIN_REQUIRED", "the session has expired, log in again", { token: "expired" });
    }
    const { tenant, tenantID, userIntID, username, role } = found;
    return {
      caller: { tenant, tenantID, userIntID, username, role, credential: { session } },
      until: monotonic() + rememberedMs,
      expiresAt: found.expiresAt,
    };
  }

  function remember(digest: string, verified: Verified): void {
    const [oldest] = remembered.keys();
    if (remembered.size >= rememberedMax && oldest !== undefined) remembered.delete(oldest);
    remembered.set(digest, verified);
  }

  /** What was forgotten meanwhile may have been read before: it is asked for again, for whoever has joined since. */
  async function verifyAnew(authorization: string, address: string, missed: Forgotten[]): Promise<Verified> {
    for (;;) {
      const found = await verify(authorization, address);
      if (!missed.some((of) => isOf(found, of))) return found;
      missed.length = 0;
    }
  }

  /** Requests that come together with one credential are verified once. */
  function verifyOnce(digest: string, authorization: string, address: string): Verifying {
    const missed: Forgotten[] = [];
    const verified = verifyAnew(authorization, address, missed).then(
      (found) => {
        underWay.delete(digest);
        remember(digest, found);
        return found;
      },
      (error: unknown) => {
        underWay.delete(digest);
        throw error;
      },
    );
    const verifying = { verified, missed };
    underWay.set(digest, verifying);
    return verifying;
  }

  return {
    passwords: createPasswords(db, monotonic, secrets),
    forget: (of) => {
      for (const [digest, verified] of remembered) if (isOf(verified, of)) remembered.delete(digest);
      for (const { missed } of underWay.values()) missed.push(of);
    },
    caller: async (authorization, address) => {
      if (authorization === undefined) throw denied();
      const digest = keyed(authorization);
      const known = remembered.get(digest);
      if (known !== undefined && known.until > monotonic() && known.expiresAt > now()) return known.caller;
      remembered.delete(digest);
      const { verified } = underWay.get(digest) ?? verifyOnce(digest, authorization, address);
      return (await verified).caller;
    },
  };
}

function isOf({ caller: { userIntID, credential } }: Verified, of: Forgotten): boolean {
  if ("user" in of) return userIntID === of.user;
  if ("apiKey" in of) return "apiKey" in credential && credential.apiKey === of.apiKey;
  return "session" in credential && credential.session === of.session;
}

/** A key may do what the lower of its own and its user's role may. */
function lowerOf(one: Role, other: Role): Role {
  return granted[one].size < granted[other].size ? one : other;
}

function denied(): ApiError {
  return new ApiError(
    "AUTH_FAILED",
    "missing or wrong credentials",
    { token: "missing or wrong" },
    { "WWW-Authenticate": "Bearer" },
  );
}

/** The token of `Bearer <token>`. */
export function bearerOf(authorization: string): string {
  return authorization.replace(/^Bearer\s+/i, "");
}

/** `Basic base64(appID:appSecret)` or `Bearer appID:appSecret`; null for a session's bearer token. */
function apiKeyOf(authorization: string): { appID: string; appSecret: string } | null {
  const end = Math.max(0, authorization.search(/\s/));
  const rest = authorization.slice(end).trimStart();
  const kind = authorization.slice(0, end).toLowerCase();
  if (kind !== "basic" && kind !== "bearer") throw denied();
  const text = kind === "basic" ? Buffer.from(rest, "base64").toString("utf8") : rest;
  const at = text.indexOf(":");
  if (at < 0) {
    if (kind === "basic") throw denied();
    return null;
  }
  return { appID: text.slice(0, at), appSecret: text.slice(at + 1) };
}
