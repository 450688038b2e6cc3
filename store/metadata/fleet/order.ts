import type { Condition, SqlValue } from "../db/db.js";

/** The orders of the fleet: each is that of an index, and of the record ids among equal values. */

interface Order {
  /** The table whose index it is, with the alias `k`. */
  readonly table: "device" | "device_seen";
  readonly column: string;
  /** As the index compares. */
  readonly key: string;
  readonly type: "text" | "integer";
}

const orders = {
  deviceName: { table: "device", column: "deviceName", key: "k.deviceName collate nocase", type: "text" },
  deviceID: { table: "device", column: "deviceID", key: "k.deviceID collate nocase", type: "text" },
  lastSeen: { table: "device_seen", column: "lastSeen", key: "k.lastSeen", type: "integer" },
  createAt: { table: "device", column: "createAt", key: "k.createAt", type: "integer" },
  deviceStatus: { table: "device", column: "deviceStatus", key: "k.deviceStatus", type: "integer" },
} as const satisfies Readonly<Record<string, Order>>;

export type FleetField = keyof typeof orders;
export const fleetFields = Object.keys(orders) as readonly FleetField[];
export const keyType = (field: FleetField): Order["type"] => orders[field].type;

export interface FleetSort {
  readonly field: FleetField;
  readonly descending: boolean;
}

/** The place of a row in an order. */
export interface FleetPlace {
  readonly key: string | number;
  readonly id: number;
}

const byKey = (key: string, { descending }: FleetSort): string =>
  descending ? `${key} desc, k.id desc` : `${key}, k.id`;

/**
 * The rows after a place, `id` and `key`, as many as `limit`: those of the same value, then those beyond it. A comparison
 * of pairs would go over all rows of the same value.
 */
export function rowsAfter(
  tenant: number,
  sort: FleetSort,
  after: FleetPlace | null,
  limit: number,
): Condition {
  const { table, column, key } = orders[sort.field];
  const select = `select k.id, k.${column} key from ${table} k where k.tenant = ?`;
  const end = `order by ${byKey(key, sort)} limit ?`;
  if (after === null) return { sql: `${select} ${end}`, args: [tenant, limit] };
  const beyond = sort.descending ? "<" : ">";
  const equal = `${select} and ${key} = ? and k.id ${beyond} ? ${end}`;
  const further = `${select} and ${key} ${beyond} ? ${end}`;
  return {
    sql: `select * from (${equal}) union all select * from (${further}) limit ?`,
    args: [...[tenant, after.key, after.id, limit], ...[tenant, after.key, limit], limit],
  };
}

/** The rows from an offset on, counted from the begin, or from the end where that is nearer: `total` is of all. */
export function rowsFrom(
  tenant: number,
  sort: FleetSort,
  offset: number,
  limit: number,
  total: number,
): { readonly question: Condition; readonly isReversed: boolean } {
  const { table, column, key } = orders[sort.field];
  const end = Math.max(0, total - offset);
  const isReversed = end < offset;
  const of = isReversed ? { ...sort, descending: !sort.descending } : sort;
  const skipped = isReversed ? Math.max(0, end - limit) : offset;
  const taken = isReversed ? Math.min(end, limit) : limit;
  return {
    question: {
      sql: `select k.id, k.${column} key from ${table} k where k.tenant = ? order by ${byKey(key, of)} limit ? offset ?`,
      args: [tenant, taken, skipped],
    },
    isReversed,
  };
}

/** Those of some rows that come after a place, in order. */
export function sortedAmong(
  ids: readonly number[],
  sort: FleetSort,
  after: FleetPlace | null,
  limit: number,
  offset: number,
): Condition {
  const { table, column, key } = orders[sort.field];
  const beyond = sort.descending ? "<" : ">";
  const passed: { sql: string; args: SqlValue[] } =
    after === null
      ? { sql: "1", args: [] }
      : {
          sql: `(${key} ${beyond} ? or (${key} = ? and k.id ${beyond} ?))`,
          args: [after.key, after.key, after.id],
        };
  return {
    sql: `select k.id, k.${column} key from json_each(?) c cross join ${table} k on k.id = c.value
      where ${passed.sql} order by ${byKey(key, sort)} limit ? offset ?`,
    args: [ids, ...passed.args, limit, offset],
  };
}
