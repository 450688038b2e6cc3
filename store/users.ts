import { type Actor, changed, deleteStatements } from "./changes.js";
import type { Db } from "./db.js";
import {
  getRow,
  insertInto,
  type Listing,
  listRows,
  type Page,
  type PageRequest,
  updateRow,
} from "./table.js";

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

/** User names are unique over the deployment: the login names no tenant. */
export function findUser(db: Db, username: string): Promise<User | undefined> {
  return db.first<User>(`select ${listing.select} from ${listing.from} where r.username = ?`, [username]);
}

export interface NewUser {
  readonly username: string;
  readonly passwordHash: string;
  readonly role: Role;
}

/** @throws StoreError CONFLICT on username */
export async function createUser(db: Db, actor: Actor, now: number, input: NewUser): Promise<User> {
  const results = await db.write([
    insertInto("user", { tenant: actor.tenant, ...input, createAt: now }),
    changed(actor, now, "create", "user", null, { username: input.username, role: input.role }),
  ]);
  return getUser(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

/** A new password or role ends the user's sessions. @throws StoreError REFERENCED for the last admin's role */
export async function updateUser(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: { readonly passwordHash?: string; readonly role?: Role },
): Promise<User> {
  await db.write([
    updateRow("user", actor.tenant, id, { ...input, updateAt: now }),
    { sql: "delete from session where userIntID = ?", args: [id] },
    changed(actor, now, "update", "user", id, {
      ...(input.role === undefined ? {} : { role: input.role }),
      ...(input.passwordHash === undefined ? {} : { password: "***" }),
    }),
  ]);
  return getUser(db, actor.tenant, id);
}

/** Their sessions and API keys go with them. @throws StoreError REFERENCED if no admin would be left */
export async function removeUsers(db: Db, actor: Actor, now: number, ids: readonly number[]): Promise<void> {
  await db.write(deleteStatements("user", actor, now, ids));
}
