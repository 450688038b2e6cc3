import { containing } from "../db/containing.js";
import type { Condition, Db, Statement } from "../db/db.js";
import { createSteps, spansOf } from "../db/steps.js";

/** Names of devices and gateways, including deleted ones: logs outlive them. */

/** Names for log rows: the present ones, or the last ones of a deleted device. */
export async function deviceNames(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, { deviceID: string; deviceName: string }>> {
  const rows = await db.all<{ id: number; deviceID: string; deviceName: string }>(
    `with asked as (select value id from json_each(?1))
     select id, deviceID, deviceName from device where id in (select id from asked)
     union all select id, deviceID, deviceName from departed_device where id in (select id from asked)`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Record ids of the devices and gateways, present or deleted, that log filters match; at most `limit` + 1. `only`:
 * looks at this record alone, unless 0.
 */
export async function deviceIDsByNames(
  db: Db,
  tenant: number,
  conditions: readonly {
    readonly column: "deviceID" | "deviceName";
    readonly like: boolean;
    readonly value: string;
  }[],
  only: number,
  limit: number,
): Promise<number[]> {
  const found: Statement[] = conditions.map(({ column, like, value }) =>
    like ? containing(column, value) : { sql: `${column} = ?`, args: [value] },
  );
  if (only !== 0) found.push({ sql: "id = ?", args: [only] });
  const where = found.map(({ sql }) => sql);
  const args = found.flatMap((one) => one.args ?? []);
  const part = (table: string) =>
    `select id from ${table} where tenant = ?${where.map((one) => ` and ${one}`).join("")}`;
  if (conditions.some(({ like }) => like)) {
    const ids: number[] = [];
    for (const table of ["device", "departed_device"])
      await searchIDs(db, table, tenant, { sql: where.join(" and "), args }, limit + 1, ids);
    return ids;
  }
  const rows = await db.all<{ id: number }>(
    `${part("device")} union all ${part("departed_device")} limit ?`,
    [tenant, ...args, tenant, ...args, limit + 1],
  );
  return rows.map((row) => row.id);
}

/** Rows of one step of a search, at first and at most. */
const searchSteps = { first: 50, most: 5000 } as const;

/** Adds the ids of a tenant's rows that match a condition on text, in steps, until there are `most`. */
export async function searchIDs(
  db: Db,
  table: string,
  tenant: number,
  { sql, args }: Condition,
  most: number,
  ids: number[],
): Promise<void> {
  const steps = createSteps(db, searchSteps.first, searchSteps.most);
  const own = { sql: "r.tenant = ?", args: [tenant] };
  for await (const { from, before } of spansOf(db, table, own, steps)) {
    if (ids.length >= most) return;
    const rows = await steps.run((all) =>
      all<{ id: number }>(
        `select id from ${table} where tenant = ? and id >= ? and id < ? and ${sql} order by id desc limit ?`,
        [tenant, from, before, ...args, most - ids.length],
      ),
    );
    for (const { id } of rows) ids.push(id);
  }
}
