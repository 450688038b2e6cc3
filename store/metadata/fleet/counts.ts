import type { Db } from "../db/db.js";
import { currentAlerts, type FleetFilters, keptCondition } from "./filters.js";

/** How many devices there are, and of which kinds. */

export interface FleetFacets {
  readonly deviceStatus: readonly { readonly value: number; readonly count: number }[];
  /** The most frequent ones. */
  readonly products: readonly {
    readonly productIntID: number;
    readonly productName: string;
    readonly count: number;
  }[];
  readonly blocked: number;
  readonly hasAlert: number;
}

const facetProductsMax = 50;
/** Current alerts that one query looks at. */
const alertsCountedMax = 100_000;

/** How many pass filters on kept columns. */
export async function keptCount(
  db: Pick<Db, "first">,
  tenant: number,
  filters: FleetFilters,
): Promise<number> {
  const { sql, args } = keptCondition(tenant, filters);
  const row = await db.first<{ n: number }>(
    `select coalesce(sum(r.n), 0) n from fleet_count r where ${sql}`,
    args,
  );
  return row?.n ?? 0;
}

const products = `select f.productIntID, p.productName, f.count
  from (select productIntID, sum(n) count from found group by productIntID
    order by count desc, productIntID limit ${facetProductsMax}) f
  join product p on p.id = f.productIntID order by f.count desc, f.productIntID`;

/** Counts all rows that pass filters on kept columns. */
export function keptFacets(db: Db, tenant: number, filters: FleetFilters): Promise<FleetFacets> {
  const { sql, args } = keptCondition(tenant, filters);
  const found = `with found as (select r.* from fleet_count r where ${sql})`;
  const alerted = `select count(*) n
    from (select distinct deviceIntID id from alert where tenant = ? and endTime is null limit ${alertsCountedMax}) c
    cross join device r on r.id = c.id where ${sql}`;
  return readFacets(db, [
    { sql: `${found} select deviceStatus value, sum(n) count from found group by deviceStatus`, args },
    { sql: `${found} ${products}`, args },
    { sql: `${found} select coalesce(sum(n), 0) n from found where blocked = 1`, args },
    { sql: alerted, args: [tenant, ...args] },
  ]);
}

/** Counts among these rows. */
export function facetsAmong(db: Db, tenant: number, ids: readonly number[]): Promise<FleetFacets> {
  const found = `with found as (select r.id, r.tenant, r.productIntID, r.deviceStatus, r.blocked, 1 n
    from json_each(?) c cross join device r on r.id = c.value where r.tenant = ?)`;
  const args = [ids, tenant];
  return readFacets(db, [
    { sql: `${found} select deviceStatus value, sum(n) count from found group by deviceStatus`, args },
    { sql: `${found} ${products}`, args },
    { sql: `${found} select coalesce(sum(n), 0) n from found where blocked = 1`, args },
    {
      sql: `${found} select count(*) n from found r where exists (${currentAlerts})`,
      args,
    },
  ]);
}

async function readFacets(db: Db, statements: Parameters<Db["snapshot"]>[0]): Promise<FleetFacets> {
  const [deviceStatus = [], products = [], [blocked] = [], [alerted] = []] = (await db.snapshot(
    statements,
  )) as [FleetFacets["deviceStatus"]?, FleetFacets["products"]?, { n: number }[]?, { n: number }[]?];
  return { deviceStatus, products, blocked: blocked?.n ?? 0, hasAlert: alerted?.n ?? 0 };
}
