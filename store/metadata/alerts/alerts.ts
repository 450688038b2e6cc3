import { mapInSlices } from "../../lib/scheduling.js";
import { type Actor, changedAll, deleteStatements } from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
  time,
} from "../db/table.js";

/** Current until endTime is set; it keeps its id when it becomes history. */
export interface Alert {
  readonly id: number;
  readonly tenant: number;
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly cause: string;
  readonly alertName: string;
  readonly alertContent: string;
  readonly alertSeverity: number;
  readonly alertTimes: number;
  readonly alertDetail: Readonly<Record<string, unknown>>;
  readonly startTime: number;
  readonly endTime: number | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  bytes: formatBytesSql("r.alertContent", "r.alertDetail"),
  select: "r.*, d.deviceID, d.deviceName",
  from: "alert r join device d on d.id = r.deviceIntID join product p on p.id = d.productIntID",
  filters: {
    alertName: textColumn("alertName"),
    alertContent: textColumn("alertContent"),
    alertSeverity: integerColumn("alertSeverity"),
    alertTimes: integerColumn("alertTimes"),
    deviceID: { column: "d.deviceID", type: "text" },
    deviceName: { column: "d.deviceName", type: "text" },
    deviceIntID: integerColumn("deviceIntID"),
    productID: { column: "p.productID", type: "text" },
    productName: { column: "p.productName", type: "text" },
    productIntID: { column: "d.productIntID", type: "integer" },
    startTime: time("startTime"),
    ...stamps,
  },
};

export const alertFilters = listing.filters;

/** The two lists of alerts. */
export type AlertState = "current" | "history";

const scopes = { current: "endTime is null", history: "endTime is not null" } as const;

export const alertIDs = {
  current: { name: "alert", column: null, scope: scopes.current },
  history: { name: "alert", column: null, scope: scopes.history },
} as const;

type AlertRow = Omit<Alert, "alertDetail"> & { readonly alertDetail: string };

function toAlert(row: AlertRow): Alert {
  return { ...row, alertDetail: JSON.parse(row.alertDetail) as Alert["alertDetail"] };
}

export async function listAlerts(
  db: Db,
  tenant: number,
  state: AlertState,
  request: PageRequest,
): Promise<Page<Alert>> {
  const scope = { sql: `r.${scopes[state]}` };
  const page = await listRows<AlertRow>(db, listing, tenant, request, scope);
  return { ...page, items: await mapInSlices(page.items, toAlert) };
}

/** An alert in either state. @throws StoreError NOT_FOUND */
export async function getAlert(db: Db, tenant: number, id: number): Promise<Alert> {
  return toAlert(await getRow<AlertRow>(db, listing, tenant, id));
}

/** The trouble of a device that a message shows; the detail is JSON, because many triggers of one message share it. */
export type Trigger = Pick<
  Alert,
  "tenant" | "deviceIntID" | "cause" | "alertName" | "alertContent" | "alertSeverity" | "startTime"
> & { readonly alertDetail: string };

/**
 * An alert that a statement raises: the trigger, how many messages it stands for, and the number of its device's save.
 */
export interface Raised extends Trigger {
  readonly times: number;
  readonly save: number;
}

/**
 * In one statement, begins a current alert for each (device, cause), or counts further times on the one there is; not
 * for rules that are gone. `condition` may use v.deviceIntID and v.save. `now` in milliseconds.
 */
export function raiseAlerts(
  now: number,
  all: readonly Raised[],
  condition: Statement = { sql: "1" },
): Statement {
  return {
    sql: `insert into alert
        (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, alertTimes, alertDetail, startTime, createAt)
      select tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, times, detail, startTime, ?
      from (select column1 tenant, column2 deviceIntID, column3 cause, column4 alertName, column5 alertContent,
        column6 alertSeverity, column7 times, column8 detail, column9 startTime, column10 save
        from (values ${all.map(() => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ")})) v
      where (substr(v.cause, 1, 5) <> 'rule:' or exists (select 1 from alert_rule where id = substr(v.cause, 6)))
        and ${condition.sql}
      on conflict (deviceIntID, cause) where endTime is null
      do update set alertTimes = alertTimes + excluded.alertTimes, alertDetail = excluded.alertDetail`,
    args: [
      now,
      ...all.flatMap((one): SqlValue[] => [
        ...[one.tenant, one.deviceIntID, one.cause, one.alertName, one.alertContent, one.alertSeverity],
        ...[one.times, one.alertDetail, one.startTime, one.save],
      ]),
      ...(condition.args ?? []),
    ],
  };
}

/** The trouble is over: the current alert, if any, becomes history. `endTime` in milliseconds. */
export function endAlert(
  deviceIntID: number,
  cause: string,
  endTime: number,
  condition: Statement = { sql: "1" },
): Statement {
  return {
    sql: `update alert set endTime = max(?, startTime)
      where deviceIntID = ? and cause = ? and endTime is null and ${condition.sql}`,
    args: [endTime, deviceIntID, cause, ...(condition.args ?? [])],
  };
}

/** Causes of devices' current alerts, by device; a device without alerts has no entry. */
export async function currentCauses(db: Db, ids: readonly number[]): Promise<Map<number, string[]>> {
  const rows = await db.all<{ deviceIntID: number; cause: string }>(
    `select deviceIntID, cause from alert
     where deviceIntID in (select value from json_each(?)) and endTime is null`,
    [JSON.stringify(ids)],
  );
  const causes = new Map<number, string[]>();
  for (const { deviceIntID, cause } of rows) {
    const known = causes.get(deviceIntID);
    if (known === undefined) causes.set(deviceIntID, [cause]);
    else known.push(cause);
  }
  return causes;
}

/** Devices of current alerts, found by the alerts' ids or their causes. */
export async function devicesOfAlerts(
  db: Db,
  tenant: number,
  by: "id" | "cause",
  all: readonly (number | string)[],
): Promise<number[]> {
  const rows = await db.all<{ deviceIntID: number }>(
    `select distinct deviceIntID from alert
      where tenant = ? and endTime is null and ${by} in (select value from json_each(?))`,
    [tenant, all],
  );
  return rows.map((row) => row.deviceIntID);
}

/** Turns current alerts into history. */
export async function clearAlerts(db: Db, actor: Actor, now: number, ids: readonly number[]): Promise<void> {
  await db.write([
    {
      sql: `update alert set endTime = ? where tenant = ? and endTime is null
        and id in (select value from json_each(?))`,
      args: [now, actor.tenant, ids],
    },
    changedAll(actor, now, "update", "alert", ids, { endTime: now }),
  ]);
}

/** Removes history alerts. */
export async function removeAlerts(db: Db, actor: Actor, now: number, ids: readonly number[]): Promise<void> {
  await db.write(deleteStatements("alert", actor, now, ids));
}

/**
 * Removes history alerts that ended, and were made, before a time in milliseconds, among at most `limit` alerts after
 * the id `from`. Returns how many, and the id to continue from, or null once no later alert can be so old.
 */
export async function removeOldAlerts(
  db: Db,
  before: number,
  from: number,
  limit: number,
): Promise<{ readonly next: number | null; readonly removed: number }> {
  // Ids ascend with the times at which alerts are made.
  const last = await db.first<{ id: number }>(
    `select max(id) id from (select id, createAt from alert where id > ? order by id limit ?) where createAt < ?`,
    [from, limit, before],
  );
  const to = last?.id ?? null;
  if (to === null) return { next: null, removed: 0 };
  const [result] = await db.write([
    {
      sql: "delete from alert where id > ? and id <= ? and createAt < ? and endTime < ?",
      args: [from, to, before, before],
    },
  ]);
  return { next: to, removed: result?.rowsAffected ?? 0 };
}

/**
 * The newest history alert of a tenant that has `max` newer ones; null if there are no more than `max`. Calls `breathe`
 * between steps of `limit` rows, to let others in.
 */
export async function alertBeyond(
  db: Db,
  tenant: number,
  max: number,
  limit: number,
  breathe: () => Promise<void>,
): Promise<number | null> {
  let id = Number.MAX_SAFE_INTEGER;
  for (let left = max + 1; left > 0; left -= limit) {
    const row = await db.first<{ id: number }>(
      `select id from alert where tenant = ? and endTime is not null and id < ?
        order by id desc limit 1 offset ?`,
      [tenant, id, Math.min(left, limit) - 1],
    );
    if (row === undefined) return null;
    id = row.id;
    await breathe();
  }
  return id;
}

/** Removes up to `limit` of a tenant's oldest history alerts, up to an id; returns how many. */
export async function removeAlertsUpTo(db: Db, tenant: number, id: number, limit: number): Promise<number> {
  const [result] = await db.write([
    {
      sql: `delete from alert where id in (select id from alert
        where tenant = ? and endTime is not null and id <= ? order by id limit ?)`,
      args: [tenant, id, limit],
    },
  ]);
  return result?.rowsAffected ?? 0;
}
