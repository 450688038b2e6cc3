import { StoreError } from "../../lib/errors.js";
import { type Actor, changed, deleteStatements, differing } from "../db/changes.js";
import { assertAdmin, assertPassword } from "../db/credential-guards.js";
import type { Db, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import {
  getRow,
  insertInto,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  updateRow,
} from "../db/table.js";

export type Role = "admin" | "operator" | "viewer";

export interface User {
  readonly id: number;
  readonly tenant: number;
  readonly tenantID: string;
  readonly username: string;
  readonly passwordHash: string;
  readonly role: Role;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  select: "r.*, t.tenantID",
  from: "user r join tenant t on t.id = r.tenant",
  filters: {
    username: { column: "r.username", type: "text" },
    role: { column: "r.role", type: "text" },
    tenantID: { column: "t.tenantID", type: "text" },
    ...stamps,
  },
};

export const userFilters = listing.filters;
export const userIDs = { name: "user", column: null } as const;

export function listUsers(db: Db, tenant: number, request: PageRequest): Promise<Page<User>> {
  return listRows<User>(db, listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getUser(db: Db, tenant: number, id: number): Promise<User> {
  return getRow<User>(db, listing, tenant, id);
}

/** User names are unique in the deployment, because a login names no tenant. */
export function findUser(db: Db, username: string): Promise<User | undefined> {
  return db.first<User>(`select ${listing.select} from ${listing.from} where r.username = ?`, [username]);
}

export interface NewUser {
  readonly username: string;
  readonly passwordHash: string;
  readonly role: Role;
}

/** @throws StoreError CONFLICT on username, DENIED if the actor has lost the right meanwhile */
export async function createUser(db: Db, actor: Actor, now: number, input: NewUser): Promise<User> {
  const results = await db.write([
    ...assertAdmin(actor),
    insertInto("user", { tenant: actor.tenant, ...input, createAt: now }),
    changed(actor, now, "create", "user", null, { username: input.username, role: input.role }),
  ]);
  return getUser(db, actor.tenant, Number(results.at(-2)?.lastInsertRowid));
}

interface UserEdit {
  readonly passwordHash?: string;
  readonly role?: Role;
}

/** What happens to the user's other credentials, and on which condition. */
interface Aftermath {
  /** The hash of the password that a user has shown to edit himself; absent if an administrator edits. */
  readonly shown?: string;
  /** The session that stays when the others end, by its token's hash. */
  readonly staying?: string;
  /** Removes the user's API keys. */
  readonly revokesApiKeys?: boolean;
}

/**
 * A new password or another role ends the user's sessions.
 *
 * @throws StoreError REFERENCED for the last admin's role, DENIED if the actor has lost the right meanwhile
 */
export async function updateUser(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: UserEdit,
  { shown, staying = "", revokesApiKeys = false }: Aftermath = {},
): Promise<User> {
  const edit = differing(await getUser(db, actor.tenant, id), input);
  const isAnother = Object.keys(edit).length > 0;
  await db.write([
    ...(shown === undefined ? assertAdmin(actor) : [assertPassword(id, shown)]),
    updateRow("user", actor.tenant, id, { ...edit, updateAt: now }),
    ...(isAnother
      ? [{ sql: "delete from session where userIntID = ? and tokenHash <> ?", args: [id, staying] }]
      : []),
    ...(revokesApiKeys ? deleteUserKeys(actor, now, id) : []),
    changed(actor, now, "update", "user", id, {
      ...(edit.role === undefined ? {} : { role: edit.role }),
      ...(edit.passwordHash === undefined ? {} : { password: "***" }),
    }),
  ]);
  return getUser(db, actor.tenant, id);
}

/** Deletes the keys that exist when the write is made, each with its trace. */
function deleteUserKeys({ tenant, userIntID, username }: Actor, now: number, user: number): Statement[] {
  return [
    {
      sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID)
        select ?, ?, ?, ?, 'delete', 'api_key', id from api_key where tenant = ? and userIntID = ? order by id`,
      args: [tenant, userIntID, username, now, tenant, user],
    },
    { sql: "delete from api_key where tenant = ? and userIntID = ?", args: [tenant, user] },
  ];
}

/** Their sessions and API keys are removed with them. @throws StoreError REFERENCED if no admin would be left */
export async function removeUsers(db: Db, actor: Actor, now: number, ids: readonly number[]): Promise<void> {
  try {
    await db.write([...assertAdmin(actor), ...deleteStatements("user", actor, now, ids)]);
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "REFERENCED")) throw error;
    throw new StoreError("REFERENCED", "cannot delete the user: the tenant must keep an admin");
  }
}
