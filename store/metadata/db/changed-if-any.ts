import { type Actor, boundDetail, type Change } from "./changes.js";
import type { Statement } from "./db.js";

/**
 * The trace of a write that may find nothing to do: it is left only if the statement before it touched a row, or left
 * its own trace for the same reason. With `recordID` null it takes the id that the statement before it inserted.
 */
export function changedIfAny(
  { tenant, userIntID, username }: Actor,
  now: number,
  action: Change["action"],
  entity: string,
  recordID: number | null,
  detail: object,
): Statement {
  return {
    sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID, detail)
      select ?, ?, ?, ?, ?, ?, ${recordID === null ? "last_insert_rowid()" : "?"}, ? where changes() > 0`,
    args: [
      ...[tenant, userIntID, username, now, action, entity],
      ...(recordID === null ? [] : [recordID]),
      boundDetail(detail),
    ],
  };
}
