import type { Db, SqlValue, Statement } from "../db/db.js";
import { fromJson } from "../db/table.js";

/** The messages of a device that one node has handled, as of the journal id of the last. */
export interface DeviceIngest {
  readonly deviceIntID: number;
  readonly journalID: number;
  /** How often this record has been written. */
  readonly saves: number;
  readonly messages: number;
  readonly points: number;
  /** Counts of refused values by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Receipt of the newest message, milliseconds; null before the first. */
  readonly lastAt: number | null;
  /** When its last connection broke off, milliseconds; null while it is connected, or if it disconnected properly. */
  readonly offlineSince: number | null;
  /** The alerts consumer's own state for the device. */
  readonly state: unknown;
}

type Row = Omit<DeviceIngest, "refused" | "state"> & { readonly refused: string; readonly state: string };

const columns = "deviceIntID, journalID, saves, messages, points, refused, lastAt, offlineSince, state";

function toDeviceIngest(row: Row): DeviceIngest {
  return { ...row, refused: fromJson(row.refused) ?? {}, state: fromJson(row.state) };
}

/** The records by device; a device that the node has never heard from has no entry. */
export async function findDeviceIngests(
  db: Db,
  node: number,
  ids: readonly number[],
): Promise<Map<number, DeviceIngest>> {
  const rows = await db.all<Row>(
    `select ${columns} from device_ingest
     where deviceIntID in (select value from json_each(?)) and node = ?`,
    [JSON.stringify(ids), node],
  );
  return new Map(rows.map((row) => [row.deviceIntID, toDeviceIngest(row)]));
}

/** The newest journal id of a node that any device's counters include. */
export async function lastIngestedID(db: Db, node: number): Promise<number> {
  const row = await db.first<{ id: number | null }>(
    "select max(journalID) as id from device_ingest where node = ?",
    [node],
  );
  return row?.id ?? 0;
}

/** The records that all other nodes have of a device. */
export async function ingestElsewhere(
  db: Db,
  shards: readonly number[],
  id: number,
): Promise<DeviceIngest[]> {
  const rows = await db.all<Row>(
    `select ${columns} from device_ingest
     where deviceIntID = ? and node not in (select value from json_each(?))`,
    [id, JSON.stringify(shards)],
  );
  return rows.map(toDeviceIngest);
}

/** Devices of a node whose connection broke off and that have not come back. */
export function devicesOffline(
  db: Db,
  node: number,
): Promise<Pick<DeviceIngest, "deviceIntID" | "offlineSince">[]> {
  return db.all(
    "select deviceIntID, offlineSince from device_ingest where node = ? and offlineSince is not null",
    [node],
  );
}

/** Removes the records that late messages have left of deleted devices. */
export async function forgetDeletedIngests(db: Db): Promise<void> {
  await db.write([
    {
      sql: `delete from device_ingest where not exists (select 1 from device d where d.id = deviceIntID)`,
    },
  ]);
}

/** One statement for many devices. */
export function saveDeviceIngests(node: number, all: readonly DeviceIngest[]): Statement {
  const args = all.flatMap((one): SqlValue[] => [
    ...[one.deviceIntID, node, one.journalID, one.saves, one.messages, one.points],
    ...[JSON.stringify(one.refused), one.lastAt, one.offlineSince, JSON.stringify(one.state)],
  ]);
  return {
    sql: `insert into device_ingest
        (deviceIntID, node, journalID, saves, messages, points, refused, lastAt, offlineSince, state)
      values ${all.map(() => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ")}
      on conflict do update set journalID = excluded.journalID, saves = excluded.saves, messages = excluded.messages,
        points = excluded.points, refused = excluded.refused, lastAt = excluded.lastAt,
        offlineSince = excluded.offlineSince, state = excluded.state`,
    args,
  };
}

const notYet = (device: string, save: string): string =>
  `exists (select 1 from device where id = ${device})
   and not exists (select 1 from device_ingest where deviceIntID = ${device} and node = ? and saves >= ${save})`;

/**
 * True if a device exists and its save of that number is not stored yet, so that a write that succeeded, but whose
 * answer was lost, is not done twice.
 */
export function notYetSaved(node: number, deviceIntID: number, save: number): Statement {
  return { sql: notYet("?", "?"), args: [deviceIntID, deviceIntID, node, save] };
}

/** The same for rows of v.deviceIntID and v.save. */
export function notYetSavedRows(node: number): Statement {
  return { sql: notYet("v.deviceIntID", "v.save"), args: [node] };
}

/** Columns of a device that its own points set. */
export type ReportedColumn =
  | "longitude"
  | "latitude"
  | "serialNumber"
  | "softVersion"
  | "hardwareVersion"
  | "manufacturer";

/** Sets columns that the service itself observes, like presence: no audit row, no updateAt. */
export function setReported(
  deviceIntID: number,
  values: ReadonlyMap<ReportedColumn, number | string>,
): Statement {
  return {
    sql: `update device set ${[...values.keys()].map((column) => `${column} = ?`).join(", ")} where id = ?`,
    args: [...values.values(), deviceIntID],
  };
}

interface CarriedDevice {
  readonly id: number;
  readonly deviceID: string;
  /** 1: no client may send in its name. */
  readonly blocked: number;
}

/** Devices below a gateway or parent device, at any depth. */
export function devicesBelow(db: Db, carrier: number): Promise<CarriedDevice[]> {
  return db.all(
    `with recursive below (id) as (
      select id from device where gateway = ?1 or parentDevice = ?1
      union select d.id from device d join below b on d.parentDevice = b.id or d.gateway = b.id)
    select d.id, d.deviceID, d.blocked from below b join device d on d.id = b.id`,
    [carrier],
  );
}
