import { createHmac, randomBytes } from "node:crypto";
import { addressBlock } from "../../ingest/access/address-block.js";
import { createGuessBackOff } from "../../ingest/access/guess-back-off.js";
import type { Clock } from "../../store/lib/clock.js";
import { hasControls } from "../../store/lib/control-characters.js";
import type { Db } from "../../store/metadata/db/db.js";
import { hashGenerated, isSlow, verifySecret } from "../../store/metadata/db/secrets.js";
import { findApiKey } from "../../store/metadata/users/api-keys.js";
import { extendSession, findSession, type LoginSession } from "../../store/metadata/users/login-sessions.js";
import { type ApiCaller, lowerRole } from "./caller.js";
import { createCredentialCache, type Forgotten, type VerifiedCredential } from "./credential-cache.js";
import { ApiError } from "./errors.js";
import { createPasswords, freePasswordFailures, type Passwords, waitsFor } from "./passwords.js";
import { idleMs } from "./session-cookie.js";
import { createSlowSecrets, type SlowSecrets } from "./slow-secrets.js";

export interface Authenticator {
  /** @throws ApiError AUTH_FAILED, LOGIN_REQUIRED, TOO_MANY_REQUESTS */
  caller(authorization: string | undefined, address: string, use?: Use): Promise<ApiCaller>;
  /** Forgets these remembered credentials, and nobody else's. */
  forget(of: Forgotten): void;
  readonly passwords: Passwords;
}

/** Whether a person has asked for this, so that a browser's session goes on, or a page or stream by itself. */
export type Use = "personal" | "automatic";

/** A secret that a person chose, and the slow hash of it that the metadata have. */
export interface ChosenSecret {
  readonly appSecret: string;
  readonly secretHash: string;
}

/** @param chosen a secret and its slow hash, which this process need not compute again */
export function createAuthenticator(db: Db, clock: Clock, chosen: ChosenSecret | null = null): Authenticator {
  const { now, monotonic } = clock;
  const processKey = randomBytes(32);
  const computeDigest = (text: string) => createHmac("sha256", processKey).update(text).digest("base64");
  const cache = createCredentialCache(clock);
  const secrets = createSlowSecrets();
  if (chosen !== null) secrets.add(chosen.appSecret, chosen.secretHash);
  const keys = createKeySecrets(monotonic, secrets);

  async function fromApiKey({ appID, appSecret }: ApiKey, address: string): Promise<VerifiedCredential> {
    const found = hasControls(appID) ? undefined : await findApiKey(db, appID);
    if (found === undefined || !(await keys.isRight(appSecret, found.secretHash, address))) {
      throw keys.wrong(address);
    }
    if (found.expiresAt !== null && found.expiresAt <= now()) throw denied();
    const { id: apiKey, tenant, tenantID, userIntID, username } = found;
    const role = lowerRole(found.role, found.userRole);
    return {
      caller: { tenant, tenantID, userIntID, username, role, credential: { apiKey } },
      expiresAt: found.expiresAt ?? Number.POSITIVE_INFINITY,
    };
  }

  async function fromSession(token: string, use: Use): Promise<VerifiedCredential> {
    const session = hashGenerated(token);
    const found = await findSession(db, session);
    if (found === undefined) throw denied();
    if (found.expiresAt <= now()) {
      throw new ApiError("LOGIN_REQUIRED", "the session has expired, log in again", { token: "expired" });
    }
    const { tenant, tenantID, userIntID, username, role } = found;
    return {
      caller: { tenant, tenantID, userIntID, username, role, credential: { session } },
      expiresAt: use === "personal" ? await extended(session, found) : found.expiresAt,
    };
  }

  /** When the session ends now: one of a browser goes on with what its person does. */
  async function extended(session: string, { expiresAt, endsAt }: LoginSession): Promise<number> {
    if (endsAt === null) return expiresAt;
    const until = Math.min(now() + idleMs, endsAt);
    if (until - expiresAt < extendedByMs) return expiresAt;
    // A user who may read can go on reading while nothing can be written.
    return extendSession(db, session, until).then(
      () => until,
      () => expiresAt,
    );
  }

  async function verify(authorization: string, address: string, use: Use): Promise<VerifiedCredential> {
    const key = parseApiKey(authorization);
    return key === null ? fromSession(parseBearer(authorization), use) : fromApiKey(key, address);
  }

  return {
    passwords: createPasswords(db, monotonic, secrets),
    forget: cache.forget,
    caller: async (authorization, address, use = "automatic") => {
      if (authorization === undefined) throw denied();
      // Remembered apart: what a page asks by itself must not hide that a person has come.
      const digest = computeDigest(`${use} ${authorization}`);
      return cache.caller(digest, () => verify(authorization, address, use));
    },
  };
}

/** A session is written once it goes on for so long, not at each request. */
const extendedByMs = 15 * 60_000;

/** Failed API keys are counted by address alone, whatever key they name. */
const anyKey = "";

/** Verifies secrets of API keys, and slows down guessing by address. */
function createKeySecrets(monotonic: () => number, secrets: SlowSecrets) {
  const guesses = createGuessBackOff(monotonic, freePasswordFailures);
  return {
    /**
     * A right key is accepted whatever else comes from its address, because checking it costs nothing. A key
     * that only a slow hash can check, another process's API_KEY, waits its turn until it has been right
     * once.
     */
    isRight: async (secret: string, hash: string, address: string): Promise<boolean> => {
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
    },
    /** Counted by address alone: a guess names nobody, and must not reveal whether a key exists. */
    wrong: (address: string): ApiError => {
      const leftMs = guesses.attempt(address, anyKey);
      return leftMs > 0 ? waitsFor(leftMs) : denied();
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

/** The token of `Bearer <token>`. */
function parseBearer(authorization: string): string {
  return authorization.replace(/^Bearer\s+/i, "");
}

interface ApiKey {
  readonly appID: string;
  readonly appSecret: string;
}

/** `Basic base64(appID:appSecret)` or `Bearer appID:appSecret`; null for a session's bearer token. */
function parseApiKey(authorization: string): ApiKey | null {
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
