/** Alerts of a tenant that have begun and ended, for callers that poll. */
import type { Db } from "../db/db.js";
import type { Alert } from "./alerts.js";

/** Times in milliseconds. */
export type WatchedAlert = Pick<
  Alert,
  "id" | "deviceIntID" | "deviceID" | "alertName" | "alertSeverity" | "startTime" | "endTime"
>;

const columns = "a.id, a.deviceIntID, d.deviceID, a.alertName, a.alertSeverity, a.startTime, a.endTime";

/** The newest id of all tenants; 0 if there is none. */
export async function lastAlertID(db: Db): Promise<number> {
  return (await db.first<{ id: number | null }>("select max(id) id from alert"))?.id ?? 0;
}

/** Those with an id after `after`, ascending. */
export function alertsAfter(db: Db, tenant: number, after: number, limit: number): Promise<WatchedAlert[]> {
  const of = (state: string) =>
    `select * from (select id from alert where tenant = ?1 and id > ?2 and endTime is ${state} order by id limit ?3)`;
  return db.all(
    `select ${columns} from (${of("null")} union all ${of("not null")}) n
       join alert a on a.id = n.id join device d on d.id = a.deviceIntID order by a.id limit ?3`,
    [tenant, after, limit],
  );
}

/** The newest current alerts. */
export async function currentAlertIDs(db: Db, tenant: number, limit: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    "select id from alert where tenant = ? and endTime is null order by id desc limit ?",
    [tenant, limit],
  );
  return rows.map(({ id }) => id);
}

/** Those of some alerts that are there; deleted ones are not. */
export function alertsByID(db: Db, ids: readonly number[]): Promise<WatchedAlert[]> {
  return db.all(
    `select ${columns} from alert a join device d on d.id = a.deviceIntID
     where a.id in (select value from json_each(?)) order by a.id`,
    [ids],
  );
}
