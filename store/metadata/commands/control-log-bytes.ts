import type { Db } from "../db/db.js";
import { logRowBytes } from "../db/schema-log-bytes.js";

/** The tenants whose control logs take more than so many bytes, with their surplus. */
export function tenantsOverLogBytes(
  db: Db,
  bytesMax: number,
): Promise<{ readonly tenant: number; readonly surplus: number }[]> {
  return db.all(
    "select tenant, bytes - ?1 surplus from control_log_bytes where bytes > ?1 order by surplus desc",
    [bytesMax],
  );
}

interface OldRow {
  readonly isGroup: number;
  readonly id: number;
  readonly bytes: number;
}

/**
 * Removes a tenant's oldest control logs until `surplus` bytes are freed, at most `rowsMax` of each log; returns the
 * bytes. A group's log goes after its members' logs, because it holds their payload, and not before its sending has
 * ended.
 */
export async function removeOldestControlLogs(
  db: Db,
  tenant: number,
  surplus: number,
  rowsMax: number,
): Promise<number> {
  const rows = await db.all<OldRow>(
    `select isGroup, id, bytes from (
       select * from (select 0 isGroup, r.id, r.createAt, ${logRowBytes("r")} bytes
         from control_log r where r.tenant = ?1 order by r.id limit ?2)
       union all
       select * from (select 1, r.id, r.createAt, ${logRowBytes("r")}
         from group_control_log r where r.tenant = ?1 and r.ended = 1
           and not exists (select 1 from control_log c where c.groupLogIntID = r.id) order by r.id limit ?2))
     order by createAt, id`,
    [tenant, rowsMax],
  );
  const gone: [number[], number[]] = [[], []];
  let bytes = 0;
  for (const row of rows) {
    if (bytes >= surplus) break;
    gone[row.isGroup === 1 ? 1 : 0].push(row.id);
    bytes += row.bytes;
  }
  const [ofDevices, ofGroups] = gone;
  if (bytes === 0) return 0;
  await db.write([
    { sql: "delete from control_log where id in (select value from json_each(?))", args: [ofDevices] },
    { sql: "delete from group_control_log where id in (select value from json_each(?))", args: [ofGroups] },
  ]);
  return bytes;
}
