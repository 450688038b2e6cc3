import type { Actor } from "../db/changes.js";
import { assertAdmin } from "../db/credential-guards.js";
import type { Db, Statement } from "../db/db.js";
import { newTenantID } from "../db/ids.js";
import { insertInto } from "../db/table.js";
import type { NewUser } from "./users.js";

export interface Tenant {
  readonly id: number;
  readonly tenantID: string;
  readonly tenantName: string;
  readonly createAt: number;
}

export function findTenant(db: Db, tenantName: string): Promise<Tenant | undefined> {
  return db.first<Tenant>("select * from tenant where tenantName = ?", [tenantName]);
}

export function listTenants(db: Db): Promise<Tenant[]> {
  return db.all<Tenant>("select * from tenant order by id");
}

/**
 * Creates a tenant and, if given, its first user: both or neither.
 *
 * @param actor the administrator who makes it; if absent, the service itself
 * @throws StoreError CONFLICT on tenantName, username; DENIED if the actor has lost the right meanwhile
 */
export async function createTenant(
  db: Db,
  now: number,
  tenantName: string,
  admin?: NewUser,
  actor?: Actor,
): Promise<Tenant> {
  await db.write([
    ...(actor === undefined ? [] : assertAdmin(actor)),
    insertInto("tenant", { tenantID: newTenantID(), tenantName, createAt: now }),
    {
      sql: `insert into change (tenant, at, action, entity, recordID, detail)
        select id, ?, 'create', 'tenant', id, ? from tenant where tenantName = ?`,
      args: [now, { tenantName }, tenantName],
    },
    ...(admin === undefined ? [] : adminStatements(now, tenantName, admin)),
  ]);
  const tenant = await findTenant(db, tenantName);
  if (tenant === undefined) throw new Error("cannot read the tenant just made");
  return tenant;
}

function adminStatements(
  now: number,
  tenantName: string,
  { username, passwordHash, role }: NewUser,
): Statement[] {
  return [
    {
      sql: `insert into user (tenant, username, passwordHash, role, createAt)
        select id, ?, ?, ?, ? from tenant where tenantName = ?`,
      args: [username, passwordHash, role, now, tenantName],
    },
    {
      sql: `insert into change (tenant, at, action, entity, recordID, detail)
        select tenant, ?, 'create', 'user', id, ? from user where username = ?`,
      args: [now, { username, role }, username],
    },
  ];
}
