import { type Actor, changed, deleteStatements } from "../db/changes.js";
import { assertAdmin } from "../db/credential-guards.js";
import { type Db, lookUpFirst } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { getRow, insertInto, type Listing, type Page, type PageRequest, time } from "../db/table.js";
import type { Role } from "./users.js";

export interface ApiKey {
  readonly id: number;
  readonly tenant: number;
  readonly tenantID: string;
  readonly userIntID: number;
  readonly username: string;
  readonly name: string | null;
  readonly appID: string;
  readonly secretHash: string;
  readonly role: Role;
  readonly userRole: Role;
  readonly expiresAt: number | null;
  readonly createAt: number;
}

const listing: Listing = {
  select: "r.*, u.username, u.role userRole, t.tenantID",
  from: "api_key r join user u on u.id = r.userIntID join tenant t on t.id = r.tenant",
  filters: {
    name: { column: "r.name", type: "text" },
    appID: { column: "r.appID", type: "text" },
    role: { column: "r.role", type: "text" },
    username: { column: "u.username", type: "text" },
    userIntID: { column: "r.userIntID", type: "integer" },
    expiresAt: time("expiresAt"),
    createAt: time("createAt"),
  },
};

export const apiKeyFilters = listing.filters;
export const apiKeyIDs = { name: "api_key", column: "appID" } as const;

export function listApiKeys(db: Db, tenant: number, request: PageRequest): Promise<Page<ApiKey>> {
  return listRows<ApiKey>(db, listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getApiKey(db: Db, tenant: number, id: number): Promise<ApiKey> {
  return getRow<ApiKey>(db, listing, tenant, id);
}

export function findApiKey(db: Db, appID: string): Promise<ApiKey | undefined> {
  return lookUpFirst<ApiKey>(db, `select ${listing.select} from ${listing.from} where r.appID = ?`, [appID]);
}

type NewApiKey = Pick<ApiKey, "userIntID" | "name" | "appID" | "secretHash" | "role" | "expiresAt">;

/** @throws StoreError DENIED if the actor has lost the right meanwhile */
export async function createApiKey(db: Db, actor: Actor, now: number, input: NewApiKey): Promise<ApiKey> {
  const { secretHash: _, ...shown } = input;
  const results = await db.write([
    ...assertAdmin(actor),
    insertInto("api_key", { tenant: actor.tenant, ...input, createAt: now }),
    changed(actor, now, "create", "api_key", null, shown),
  ]);
  return getApiKey(db, actor.tenant, Number(results.at(-2)?.lastInsertRowid));
}

/** Creates the key that the operator configured, or changes it to what is configured now. */
export async function ensureApiKey(db: Db, actor: Actor, now: number, input: NewApiKey): Promise<void> {
  const found = await findApiKey(db, input.appID);
  if (found === undefined) {
    await createApiKey(db, actor, now, input);
    return;
  }
  const { secretHash, role, userIntID, expiresAt } = input;
  const wanted = { secretHash, role, userIntID, expiresAt };
  const other = Object.entries(wanted).filter(([field, value]) => found[field as keyof ApiKey] !== value);
  if (other.length === 0) return;
  const { secretHash: _, ...shown } = Object.fromEntries(other);
  await db.write([
    {
      sql: "update api_key set secretHash = ?, role = ?, userIntID = ?, expiresAt = ? where id = ?",
      args: [secretHash, role, userIntID, expiresAt, found.id],
    },
    changed(actor, now, "update", "api_key", found.id, {
      ...shown,
      ...(secretHash === found.secretHash ? {} : { appSecret: "***" }),
    }),
  ]);
}

export async function removeApiKeys(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write([...assertAdmin(actor), ...deleteStatements("api_key", actor, now, ids)]);
}

/** Whether there ever was a key, including revoked ones. */
export async function everHadApiKey(db: Db): Promise<boolean> {
  const row = await db.first<{ n: number }>("select seq n from sqlite_sequence where name = 'api_key'");
  return (row?.n ?? 0) > 0;
}
