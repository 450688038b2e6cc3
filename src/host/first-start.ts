import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import type { Db } from "../../store/metadata/db/db.js";
import { longID, newSecret } from "../../store/metadata/db/ids.js";
import { hashChosen, hashGenerated, verifySecret } from "../../store/metadata/db/secrets.js";
import {
  createApiKey,
  ensureApiKey,
  everHadApiKey,
  findApiKey,
} from "../../store/metadata/users/api-keys.js";
import { createTenant, findTenant, listTenants, type Tenant } from "../../store/metadata/users/tenants.js";
import { findUser, type User } from "../../store/metadata/users/users.js";
import type { Config } from "../config/config.js";
import type { ChosenSecret } from "../http/auth.js";
import type { ApiCaller } from "../http/caller.js";
import { passwordFairnessKey } from "../http/password-fields.js";
import { replaceFile } from "./replace-file.js";

interface FirstCredentials {
  readonly username: string;
  readonly password: string;
  readonly apiKey: string;
}

const adminName = "admin";

/**
 * On an empty deployment, makes tenant `default`, user `admin` and one API key. The file is written before the
 * metadata, so that a kill in between loses nothing: the next start takes its content. Returns the generated secrets,
 * to be shown once; those that the operator chose are not repeated.
 */
export async function firstStart(
  db: Db,
  config: Config,
  now: number,
): Promise<Partial<FirstCredentials> | null> {
  const path = join(config.dataDir, "first-start.json");
  const tenants = await listTenants(db);
  // A key that was revoked stays revoked.
  const saved = await readCredentials(path);
  if (tenants.length > 0 && (saved === null || (await everHadApiKey(db)))) return null;
  const key = config.apiKey ?? { appID: longID(), appSecret: newSecret() };
  const credentials = saved ?? {
    username: adminName,
    password: config.adminPassword ?? newSecret(),
    apiKey: `${key.appID}:${key.appSecret}`,
  };
  if (saved === null) await replaceFile(path, `${JSON.stringify(credentials, null, 2)}\n`);
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

/**
 * The content that a first start has written; null if there is no file, or an incomplete one: until the metadata has
 * its tenant, nobody can have used the content.
 */
export async function readCredentials(path: string): Promise<FirstCredentials | null> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const parsed = credentialsSchema.safeParse(parseJSON(text));
  return parsed.success ? parsed.data : null;
}

const credentialsSchema = z.object({ username: z.string(), password: z.string(), apiKey: z.string() });

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Creates a tenant and its first user.
 *
 * @param caller the administrator who makes it, in his tenant's turns; absent at a start
 */
export async function createTenantWithAdmin(
  db: Db,
  now: number,
  tenantName: string,
  username: string,
  password: string,
  caller?: ApiCaller,
): Promise<{ tenant: Tenant; admin: User }> {
  const passwordHash = await hashChosen(password, caller && passwordFairnessKey(caller));
  const tenant = await createTenant(db, now, tenantName, { username, passwordHash, role: "admin" }, caller);
  const admin = await findUser(db, username);
  if (admin === undefined) throw new Error("cannot read the user just made");
  return { tenant, admin };
}

async function createKey(db: Db, user: User, now: number, apiKey: string): Promise<void> {
  const [appID = "", appSecret = ""] = apiKey.split(/:(.*)/s);
  await createApiKey(db, toActor(user), now, {
    userIntID: user.id,
    name: "first start",
    appID,
    secretHash: hashGenerated(appSecret),
    role: "admin",
    expiresAt: null,
  });
}

/**
 * Makes API_KEY an admin key of user `admin` at every start. Returns its secret and the slow hash that is stored of it.
 */
export async function ensureConfiguredKey(db: Db, config: Config, now: number): Promise<ChosenSecret | null> {
  if (config.apiKey === null) return null;
  const { appID, appSecret } = config.apiKey;
  const tenant = await findTenant(db, "default");
  const admin = await findUser(db, adminName);
  if (tenant === undefined || admin === undefined) return null;
  const saved = (await findApiKey(db, appID))?.secretHash;
  // A matching key is kept, because processes that share the metadata have the same one.
  const same = saved !== undefined && (await verifySecret(appSecret, saved));
  const secretHash = same ? saved : await hashChosen(appSecret);
  await ensureApiKey(db, toActor(admin), now, {
    userIntID: admin.id,
    name: "API_KEY",
    appID,
    secretHash,
    role: "admin",
    expiresAt: null,
  });
  return { appSecret, secretHash };
}

const toActor = (user: User) => ({ tenant: user.tenant, userIntID: user.id, username: user.username });
