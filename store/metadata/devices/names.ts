import { containing } from "../db/containing.js";
import type { Db, Statement } from "../db/db.js";
import { deviceTexts } from "../db/schema-search.js";
import { findMatches, type Search } from "../db/search.js";
import type { TextIndex } from "../db/table.js";

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
    like ? containing(`r.${column}`, value) : { sql: `r.${column} = ?`, args: [value] },
  );
  if (only !== 0) found.push({ sql: "r.id = ?", args: [only] });
  const where = ["r.tenant = ?", ...found.map(({ sql }) => sql)].join(" and ");
  const args = [tenant, ...found.flatMap((one) => one.args ?? [])];
  if (only === 0 && conditions.some(({ like }) => like)) {
    const patterns = conditions.flatMap(({ column, like, value }) =>
      like ? [{ column, pattern: value }] : [],
    );
    const search = { tenant, where, args, patterns };
    const present = await searchIDs(db, { ...search, table: "device", texts: deviceTexts }, limit + 1);
    const missing = limit + 1 - present.length;
    return [...present, ...(await searchIDs(db, { ...search, table: "departed_device" }, missing))];
  }
  const part = (table: string) => `select r.id from ${table} r where ${where}`;
  const rows = await db.all<{ id: number }>(
    `${part("device")} union all ${part("departed_device")} limit ?`,
    [...args, ...args, limit + 1],
  );
  return rows.map((row) => row.id);
}

/** One table's rows of a tenant, searched by texts. */
type NameSearch = Pick<Search, "tenant" | "where" | "args" | "patterns"> & {
  readonly table: string;
  readonly texts?: TextIndex;
};

/** The newest ids of rows that match, at most so many. */
export async function searchIDs(db: Db, search: NameSearch, most: number): Promise<number[]> {
  const { table, texts, tenant } = search;
  const within = { sql: "r.tenant = ?", args: [tenant] };
  const ids: number[] = [];
  for await (const { found } of await findMatches(db, { ...search, texts, from: `${table} r`, within })) {
    ids.push(...found);
    if (ids.length >= most) break;
  }
  return ids.slice(0, most);
}
