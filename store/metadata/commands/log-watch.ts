/** Commands of a tenant that have been issued or have changed their status, for callers that poll. */
import type { Db } from "../db/db.js";
import { type ControlLog, publishStatuses } from "./control-logs.js";

export type WatchedLog = Pick<ControlLog, "id" | "deviceIntID" | "publishStatus"> & {
  /** When it took that status, milliseconds. */
  readonly at: number;
};

const columns = "id, deviceIntID, publishStatus, coalesce(updateAt, createAt) at";

/** The newest id of all tenants; 0 if there is none. */
export async function lastLogID(db: Db): Promise<number> {
  return (await db.first<{ id: number | null }>("select max(id) id from control_log"))?.id ?? 0;
}

/** Those with an id after `after`, ascending. */
export function logsAfter(db: Db, tenant: number, after: number, limit: number): Promise<WatchedLog[]> {
  return db.all(`select ${columns} from control_log where tenant = ? and id > ? order by id limit ?`, [
    tenant,
    after,
    limit,
  ]);
}

/** Those among the newest `limit` logs that wait for their receipt, with their status. */
export async function issuedAmong(db: Db, tenant: number, limit: number): Promise<WatchedLog[]> {
  return db.all(
    `select ${columns} from (select id, deviceIntID, publishStatus, updateAt, createAt from control_log
       where tenant = ? order by id desc limit ?)
     where publishStatus = ${publishStatuses.issued}`,
    [tenant, limit],
  );
}

export function logsByID(db: Db, ids: readonly number[]): Promise<WatchedLog[]> {
  return db.all(
    `select ${columns} from control_log where id in (select value from json_each(?)) order by id`,
    [ids],
  );
}
