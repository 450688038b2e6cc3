import { nextTurn } from "../lib/scheduling.js";
import type { Db } from "./db/db.js";

/** Points still to be removed: those of a deleted device (deviceID) or of a deleted data point (field). */
export interface Removal {
  readonly id: number;
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string | null;
  readonly field: string | null;
}

/** The removals of one tenant with ids in (after, through]. */
export interface RemovalSpan {
  readonly tenant: number;
  readonly after: number;
  readonly through: number;
}

/** The id of the newest removal, or 0 if none waits. */
export async function newestRemoval(db: Db): Promise<number> {
  const row = await db.first<{ id: number | null }>("select max(id) id from removal");
  return row?.id ?? 0;
}

/** Whether the points of a deleted device with this deviceID are still to be removed. */
export async function hasRemoval(db: Db, deviceID: string): Promise<boolean> {
  return (await db.first("select 1 from removal where deviceID = ?", [deviceID])) !== undefined;
}

/** Up to `limit` tenants with waiting removals, ascending, above `after`. */
export async function tenantsWithRemovals(db: Db, after: number, limit: number): Promise<number[]> {
  const rows = await db.all<{ tenant: number }>(
    `with recursive waiting (tenant) as (
       select (select min(tenant) from removal where tenant > ?)
       union all
       select (select min(tenant) from removal where tenant > w.tenant) from waiting w where w.tenant is not null)
     select tenant from waiting where tenant is not null limit ?`,
    [after, limit],
  );
  return rows.map(({ tenant }) => tenant);
}

/** The oldest `each` removals of each span. */
export function listRemovals(db: Db, spans: readonly RemovalSpan[], each: number): Promise<Removal[]> {
  return db.all<Removal>(
    `select r.id, r.tenant, r.productID, r.deviceID, r.field from json_each(?) t join removal r on r.id in
       (select id from removal where tenant = t.value->>0 and id > t.value->>1 and id <= t.value->>2
        order by id limit ?)`,
    [spans.map(({ tenant, after, through }) => [tenant, after, through]), each],
  );
}

/** Ends the removals, which frees the deviceIDs. */
export async function endRemovals(db: Db, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await db.write([{ sql: "delete from removal where id in (select value from json_each(?))", args: [ids] }]);
}

/** Rows counted in one step, so that a long queue does not hold the loop. */
const countedPerStep = 20_000;

export async function countRemovals(db: Db): Promise<number> {
  let count = 0;
  for (let after = 0; ; ) {
    const row = await db.first<{ n: number; last: number | null }>(
      "select count(*) n, max(id) last from (select id from removal where id > ? order by id limit ?)",
      [after, countedPerStep],
    );
    count += row?.n ?? 0;
    if ((row?.n ?? 0) < countedPerStep) return count;
    after = row?.last ?? 0;
    // The client's calls are synchronous: awaiting them alone does not let other work run.
    await nextTurn();
  }
}
