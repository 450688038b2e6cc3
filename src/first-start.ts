import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createApiKey, ensureApiKey } from "../store/api-keys.js";
import type { Db } from "../store/db.js";
import { longID, newSecret } from "../store/ids.js";
import { hashChosen, hashGenerated } from "../store/secrets.js";
import { createTenant, findTenant, listTenants, type Tenant } from "../store/tenants.js";
import { findUser, type User } from "../store/users.js";
import type { Config } from "./config.js";

export interface FirstCredentials {
  readonly username: string;
  readonly password: string;
  readonly apiKey: string;
}

const adminName = "admin";

/** MASTER_KEY, or the one that the first start made in the data folder. */
export async function masterKey(config: Config): Promise<Uint8Array> {
  if (config.masterKey !== null) return config.masterKey;
  const path = join(config.dataDir, "master.key");
  const made = randomBytes(32).toString("hex");
  await writeFile(path, made, { flag: "wx", mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return Buffer.from((await readFile(path, "utf8")).trim(), "hex");
}

/**
 * On an empty deployment: tenant `default`, user `admin`, one API key. The file is written before the metadata, so
 * that a kill in between loses nothing: the next start takes what the file has. Answers what was generated, to be
 * shown once; what the operator chose is not repeated.
 */
export async function firstStart(
  db: Db,
  config: Config,
  now: number,
): Promise<Partial<FirstCredentials> | null> {
  const path = join(config.dataDir, "first-start.json");
  const tenants = await listTenants(db);
  // A key that was made and revoked stays revoked.
  const keys = await db.first<{ n: number }>("select count(*) n from change where entity = 'api_key'");
  const kept = await readFile(path, "utf8").then(
    (text) => JSON.parse(text) as FirstCredentials,
    () => null,
  );
  if (tenants.length > 0 && (kept === null || (keys?.n ?? 0) > 0)) return null;
  const key = config.apiKey ?? { appID: longID(), appSecret: newSecret() };
  const credentials = kept ?? {
    username: adminName,
    password: config.adminPassword ?? newSecret(),
    apiKey: `${key.appID}:${key.appSecret}`,
  };
  if (kept === null) await writeFile(path, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  if (tenants.length === 0) {
    await createTenantWithAdmin(db, now, "default", adminName, credentials.password);
  }
  const admin = await findUser(db, adminName);
  if (admin !== undefined && config.apiKey === null) await createKey(db, admin, now, credentials.apiKey);
  return {
    username: adminName,
    ...(config.adminPassword === null ? { password: credentials.password } : {}),
    ...(config.apiKey === null ? { apiKey: credentials.apiKey } : {}),
  };
}

/** A tenant and its first user. */
export async function createTenantWithAdmin(
  db: Db,
  now: number,
  tenantName: string,
  username: string,
  password: string,
): Promise<{ tenant: Tenant; admin: User }> {
  const passwordHash = await hashChosen(password);
  const tenant = await createTenant(db, now, tenantName, { username, passwordHash, role: "admin" });
  const admin = await findUser(db, username);
  if (admin === undefined) throw new Error("cannot read the user just made");
  return { tenant, admin };
}

async function createKey(db: Db, user: User, now: number, apiKey: string): Promise<void> {
  const [appID = "", appSecret = ""] = apiKey.split(/:(.*)/s);
  await createApiKey(db, actorOf(user), now, {
    userIntID: user.id,
    name: "first start",
    appID,
    secretHash: hashGenerated(appSecret),
    role: "admin",
    expiresAt: null,
  });
}

/** API_KEY is an admin key of user `admin` at every start. */
export async function ensureConfiguredKey(db: Db, config: Config, now: number): Promise<void> {
  if (config.apiKey === null) return;
  const tenant = await findTenant(db, "default");
  const admin = await findUser(db, adminName);
  if (tenant === undefined || admin === undefined) return;
  await ensureApiKey(db, actorOf(admin), now, {
    userIntID: admin.id,
    name: "API_KEY",
    appID: config.apiKey.appID,
    secretHash: await hashChosen(config.apiKey.appSecret),
    role: "admin",
    expiresAt: null,
  });
}

const actorOf = (user: User) => ({ tenant: user.tenant, userIntID: user.id, username: user.username });
