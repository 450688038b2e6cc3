import type { Db } from "./db.js";

/** Names of devices and gateways, also of those that are gone: logs outlive them. */

/** Names for log rows: the present ones, after deletion the last. */
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

/** Record ids of devices and gateways, present or deleted, that log filters mean; at most `limit` + 1. */
export async function deviceIDsByNames(
  db: Db,
  tenant: number,
  conditions: readonly {
    readonly column: "deviceID" | "deviceName";
    readonly like: boolean;
    readonly value: string;
  }[],
  limit: number,
): Promise<number[]> {
  const where = conditions.map(({ column, like }) =>
    like ? `instr(lower(${column}), lower(?)) > 0` : `${column} = ?`,
  );
  const args = conditions.map(({ value }) => value);
  const part = (table: string) =>
    `select id from ${table} where tenant = ?${where.map((one) => ` and ${one}`).join("")}`;
  const rows = await db.all<{ id: number }>(
    `${part("device")} union all ${part("departed_device")} limit ?`,
    [tenant, ...args, tenant, ...args, limit + 1],
  );
  return rows.map((row) => row.id);
}
