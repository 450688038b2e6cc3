import { containing } from "../db/containing.js";
import type { Condition, Db } from "../db/db.js";
import { searchIDs } from "../devices/names.js";

/** Names of products in log rows, besides the device's own names. */

interface NameCondition {
  readonly like: boolean;
  readonly value: string;
}

/** The product's name of each device: the present one, or the last one of a deleted product. */
export async function productNames(db: Db, devices: readonly number[]): Promise<Map<number, string>> {
  const rows = await db.all<{ id: number; productName: string }>(
    `with asked as (select value id from json_each(?1))
     select d.id, p.productName from device d join product p on p.id = d.productIntID
     where d.id in (select id from asked)
     union all select d.id, coalesce(p.productName, d.productName) from departed_device d
     left join product p on p.id = d.productIntID
     where d.id in (select id from asked) and d.productName is not null`,
    [devices],
  );
  return new Map(rows.map((row) => [row.id, row.productName]));
}

/** The id, if it is that of a device or gateway of the tenant, present or deleted; else nothing. */
export async function findDeviceID(db: Db, tenant: number, id: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    `select id from device where tenant = ?1 and id = ?2
     union all select id from departed_device where tenant = ?1 and id = ?2`,
    [tenant, id],
  );
  return rows.map((row) => row.id);
}

/**
 * Record ids of the devices and gateways, present or deleted, whose products meet the conditions; at most `limit` + 1.
 * `only`: looks at this record alone, unless 0.
 */
export async function deviceIDsByProducts(
  db: Db,
  tenant: number,
  conditions: readonly NameCondition[],
  only: number,
  limit: number,
): Promise<number[]> {
  const ofDevice = only === 0 ? { sql: "1", args: [] } : { sql: "id = ?", args: [only] };
  const search = (table: string, { sql, args }: Condition, most: number): Promise<number[]> =>
    searchIDs(
      db,
      { table, tenant, where: `r.tenant = ? and ${sql}`, args: [tenant, ...args], patterns: [] },
      most,
    );
  const products = await search("product", named("productName", conditions), Number.MAX_SAFE_INTEGER);
  const rows = await db.all<{ id: number }>(
    `select id from device where tenant = ? and ${ofDevice.sql}
       and productIntID in (select value from json_each(?)) limit ?`,
    [tenant, ...ofDevice.args, products, limit + 1],
  );
  const present = rows.map((row) => row.id);
  // The product's present name, or the last one if it is deleted.
  const name = "coalesce((select p.productName from product p where p.id = productIntID), productName)";
  const { sql, args } = named(name, conditions);
  const deleted = { sql: `${ofDevice.sql} and ${sql}`, args: [...ofDevice.args, ...args] };
  return [...present, ...(await search("departed_device", deleted, limit + 1 - present.length))];
}

function named(name: string, conditions: readonly NameCondition[]): Condition {
  const all = conditions.map(({ like, value }) =>
    like ? containing(name, value) : { sql: `${name} = ?`, args: [value] },
  );
  return { sql: all.map(({ sql }) => sql).join(" and "), args: all.flatMap(({ args = [] }) => args) };
}
