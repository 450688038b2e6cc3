import { changed } from "./changes.js";
import type { Db } from "./db.js";
import { newTenantID } from "./ids.js";
import { insertInto } from "./table.js";

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

/** @throws StoreError CONFLICT on tenantName */
export async function createTenant(db: Db, now: number, tenantName: string): Promise<Tenant> {
  const results = await db.write([
    insertInto("tenant", { tenantID: newTenantID(), tenantName, createAt: now }),
  ]);
  const id = Number(results[0]?.lastInsertRowid);
  await db.write([
    changed({ tenant: id, userIntID: null, username: null }, now, "create", "tenant", id, { tenantName }),
  ]);
  const tenant = await findTenant(db, tenantName);
  if (tenant === undefined) throw new Error("cannot read the tenant just made");
  return tenant;
}
