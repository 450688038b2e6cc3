import type { Actor } from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";
import { beingRemoved } from "../db/sql-errors.js";

/**
 * The devices of an import on their way in. They are gathered in a table of their own, checked there against each other
 * and against what is stored, then moved by one `insert … select`; only that holds the write lock.
 */

/** Columns of `device` that a file sets. */
const fields = [
  ...["deviceID", "deviceName", "deviceUsername", "token", "authType", "blocked", "deviceType"],
  ...["upLinkSystem", "gateway", "productIntID", "modBusIndex", "carrier", "physicalNetwork", "IMEI", "IMSI"],
  ...["autoSub", "manufacturer", "serialNumber", "softVersion", "hardwareVersion", "description"],
  ...["deviceConsoleIP", "deviceConsolePort", "deviceConsoleUsername", "latitude", "longitude", "location"],
  ...["lora", "metaData", "scopes"],
] as const;

/** Values for columns that may not be null and that the file leaves out. */
const absent: Readonly<Record<string, SqlValue>> = { authType: 1, blocked: 0, scopes: "[]" };

export interface StagedDevice {
  /** Row number in the file. */
  readonly row: number;
  /** Column values by name; unnamed ones are null. */
  readonly columns: Readonly<Record<string, SqlValue>>;
  /** deviceID of the parent, which is in the file or stored. */
  readonly parent: string | null;
  /** The part that the audit log may show. */
  readonly audit: object | null;
}

/** A row that breaks a rule between rows. */
export interface RowConflict {
  readonly row: number;
  readonly field: string;
  /** The fault in words for the caller. */
  readonly error: string;
}

export interface Staging {
  add(devices: readonly StagedDevice[]): Promise<void>;
  /** Ties children to their parents; returns the rows whose parent does not exist. At most `limit`. */
  link(tenant: number, limit: number): Promise<number[]>;
  /** Row and row of its parent, for every parent within the file. */
  parents(): Promise<{ readonly row: number; readonly parentRow: number }[]>;
  /** Whether a row has the deviceID of a deleted device whose points are still to be removed. */
  meetsRemoval(): Promise<boolean>;
  /** Rows with values that the file or the store has already. At most `limit`. */
  conflicts(limit: number): Promise<RowConflict[]>;
  /** Stores all or none. `more` are statements of the same transaction. @throws StoreError CONFLICT, REFERENCED */
  store(actor: Actor, now: number, more: readonly Statement[]): Promise<void>;
  remove(): Promise<void>;
}

/** Below SQLite's 32,766 parameters a statement. */
const rowsPerInsert = 200;

/**
 * `name` is the table's own. In a local file a temporary table costs the store nothing and goes with its connection; a
 * remote store keeps no connection, so there it is an ordinary table.
 */
export async function openStaging(db: Db, name: string, temporary: boolean): Promise<Staging> {
  const table = `${temporary ? "temp" : "main"}.${name}`;
  // Otherwise libSQL keeps temporary tables in memory; this one has as many bytes as the file.
  if (temporary) await db.all("pragma temp_store = file");
  const columns = [...["row", ...fields].map((field) => `"${field}"`), "parent", "audit"];
  await db.all(`create table ${table} (
    n integer primary key, ${columns.join(", ")}, parentDevice integer, parentRow integer)`);
  for (const field of ["deviceID", "deviceUsername"]) {
    await db.all(`create index ${table}_${field} on ${name} (${field})`);
  }
  const insert = (rows: number) =>
    `insert into ${table} (${columns.join(", ")}) values ${Array(rows)
      .fill(`(${columns.map(() => "?").join(", ")})`)
      .join(", ")}`;
  const full = insert(rowsPerInsert);
  const toValues = ({ row, columns: values, parent, audit }: StagedDevice): SqlValue[] => [
    row,
    ...fields.map((field) => values[field] ?? absent[field] ?? null),
    parent,
    audit,
  ];

  return {
    add: async (devices) => {
      for (let at = 0; at < devices.length; at += rowsPerInsert) {
        const some = devices.slice(at, at + rowsPerInsert);
        // Not `write`: a temporary table needs no lock of the store.
        await db.all(some.length === rowsPerInsert ? full : insert(some.length), some.flatMap(toValues));
      }
    },
    link: async (tenant, limit) => {
      await db.all(`update ${table} as s set parentRow = (select p.n from ${table} p where p.deviceID = s.parent)
        where parent is not null`);
      await db.all(
        `update ${table} as s set parentDevice =
           (select d.id from device d where d.deviceID = s.parent and d.tenant = ? and d.kind = 'device')
         where parent is not null and parentRow is null`,
        [tenant],
      );
      const lost = await db.all<{ row: number }>(
        `select row from ${table} where parent is not null and parentRow is null and parentDevice is null
         order by row limit ?`,
        [limit],
      );
      return lost.map(({ row }) => row);
    },
    parents: () =>
      db.all(`select s.row, p.row parentRow from ${table} s join ${table} p on p.n = s.parentRow`),
    meetsRemoval: async () =>
      (await db.first(`select 1 from ${table} s join removal m on m.deviceID = s.deviceID limit 1`)) !==
      undefined,
    conflicts: async (limit) => {
      const found: RowConflict[] = [];
      for (const { field, error, sql } of conflictQueries(table)) {
        const rows = await db.all<{ row: number }>(`${sql} order by row limit ?`, [limit]);
        found.push(...rows.map(({ row }) => ({ row, field, error })));
      }
      return found;
    },
    store: async (actor, now, more) => {
      await db.write([...moveStatements(table, actor, now), ...more]);
    },
    remove: async () => {
      await db.all(`drop table ${table}`);
    },
  };
}

interface ConflictQuery {
  readonly field: string;
  readonly error: string;
  /** Selects the rows that break the rule. */
  readonly sql: string;
}

/** Queries for the rows with taken values; of equal rows in the file, all but the first. */
function conflictQueries(table: string): ConflictQuery[] {
  const error = "exists already";
  const siblings = (s: string) =>
    `coalesce(${s}.gateway, 0), ${s}.parentKey, case when ${s}.gateway is null and ${s}.parentKey = '' then ${s}.productIntID else 0 end, ${s}.modBusIndex`;
  const keyed = `(select row, n, gateway, productIntID, modBusIndex, coalesce(parent, '') parentKey, parentDevice
    from ${table} where modBusIndex is not null and productIntID is not null)`;
  const twice = (partition: string, from: string, where: string) =>
    `select row from (select row, row_number() over (partition by ${partition} order by n) k
      from ${from} s where ${where}) where k > 1`;
  return [
    {
      field: "deviceID",
      error,
      sql: `select row from (${twice("deviceID", table, "deviceID is not null")}
      union select s.row from ${table} s join device d on d.deviceID = s.deviceID)`,
    },
    {
      field: "deviceID",
      error: beingRemoved,
      sql: `select s.row from ${table} s join removal m on m.deviceID = s.deviceID`,
    },
    {
      field: "deviceUsername",
      error,
      sql: `select row from (${twice("deviceUsername", table, "deviceUsername is not null")}
      union select s.row from ${table} s join device d on d.deviceUsername = s.deviceUsername)`,
    },
    {
      field: "deviceName",
      error,
      sql: `select row from (${twice("productIntID, deviceName", table, "productIntID is not null")}
      union select s.row from ${table} s join device d
        on d.productIntID = s.productIntID and d.deviceName = s.deviceName and d.kind = 'device')`,
    },
    {
      field: "modBusIndex",
      error,
      sql: `select row from (${twice(siblings("s"), keyed, "1")}
      union select s.row from ${keyed} s join device d
        on coalesce(d.gateway, 0) = coalesce(s.gateway, 0) and coalesce(d.parentDevice, 0) = coalesce(s.parentDevice, 0)
        and case when d.gateway is null and d.parentDevice is null then d.productIntID else 0 end =
          case when s.gateway is null and s.parentDevice is null then s.productIntID else 0 end
        and d.modBusIndex = s.modBusIndex
        where d.modBusIndex is not null and (s.parentKey = '' or s.parentDevice is not null))`,
    },
  ];
}

/** Ids follow the table's sequence, so that children know their parents' ids before any is stored. */
function moveStatements(table: string, actor: Actor, now: number): Statement[] {
  const { tenant, userIntID, username } = actor;
  return [
    {
      sql: `insert into device (id, tenant, ${fields.join(", ")}, parentDevice, userIntID, createUser, createAt)
        select b.last + s.n, ?, ${fields.map((field) => `s.${field}`).join(", ")},
          coalesce(s.parentDevice, b.last + s.parentRow), ?, ?, ?
        from (select coalesce(max(seq), 0) last from sqlite_sequence where name = 'device') b
        cross join ${table} s order by s.n`,
      args: [tenant, userIntID, username, now],
    },
    {
      sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID, detail)
        select ?, ?, ?, ?, 'create', 'device', d.id, s.audit
        from ${table} s join device d on d.deviceID = s.deviceID order by s.n`,
      args: [tenant, userIntID, username, now],
    },
  ];
}
