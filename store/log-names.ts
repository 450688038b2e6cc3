import { containing } from "./containing.js";
import type { Db } from "./db.js";

/** What log rows say of their device beside its own names. */

export interface NameCondition {
  readonly like: boolean;
  readonly value: string;
}

/** The product's name of each device: the present one, after the product's deletion the last. */
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

/** The id, if it is that of a device or gateway of the tenant, present or deleted. */
export async function deviceIDOf(db: Db, tenant: number, id: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    `select id from device where tenant = ?1 and id = ?2
     union all select id from departed_device where tenant = ?1 and id = ?2`,
    [tenant, id],
  );
  return rows.map((row) => row.id);
}

/**
 * Record ids of the devices and gateways, present or deleted, whose product the conditions name; at most `limit` + 1. `only`: of this
 * record alone, unless 0.
 */
export async function deviceIDsByProducts(
  db: Db,
  tenant: number,
  conditions: readonly NameCondition[],
  only: number,
  limit: number,
): Promise<number[]> {
  const of = (name: string) =>
    conditions.map(({ like, value }) =>
      like ? containing(name, value) : { sql: `${name} = ?`, args: [value] },
    );
  const parts = [
    {
      from: "product p join device d on d.productIntID = p.id",
      tenant: "p.tenant",
      where: of("p.productName"),
    },
    {
      from: "departed_device d left join product p on p.id = d.productIntID",
      tenant: "d.tenant",
      where: of("coalesce(p.productName, d.productName)"),
    },
  ];
  const selects = parts.map(
    ({ from, tenant: owner, where }) =>
      `select d.id from ${from} where ${owner} = ? and ? in (0, d.id) and ${where.map(({ sql }) => sql).join(" and ")}`,
  );
  const rows = await db.all<{ id: number }>(`${selects.join(" union all ")} limit ?`, [
    ...parts.flatMap(({ where }) => [tenant, only, ...where.flatMap((one) => one.args ?? [])]),
    limit + 1,
  ]);
  return rows.map((row) => row.id);
}
