import type { RefusedPoint } from "../series/series.js";
import type { Db, SqlValue } from "./db/db.js";

/** How many refused points are kept for a person to look at; the newest stay. */
const quarantineRowsMax = 100_000;
/** Rows of one write: a whole fleet's points may be refused at once, and the loop has other work. */
const rowsPerWrite = 100;

/** The message that brought a point. */
export interface PointSource {
  readonly deviceIntID: number;
  readonly journalID: number;
}

/**
 * Keeps points that the series store will never take. If its source is known, a point counts for its device only once,
 * however often it is refused; `sourceOf` is null for points that no message has just brought.
 */
export async function quarantine(
  db: Db,
  now: number,
  refused: readonly RefusedPoint[],
  sourceOf: ((one: RefusedPoint) => PointSource | null) | null,
): Promise<void> {
  for (let at = 0; at < refused.length; at += rowsPerWrite) {
    const some = refused.slice(at, at + rowsPerWrite);
    const args = some.flatMap((one): SqlValue[] => {
      const { series, time, value } = one.point;
      const source = sourceOf?.(one) ?? null;
      return [
        ...[
          series.tenant,
          series.productID,
          series.deviceID,
          series.field,
          time,
          String(value),
          one.reason,
          now,
        ],
        ...[source?.deviceIntID ?? null, source?.journalID ?? null],
      ];
    });
    await db.write([
      {
        sql: `insert or ignore into quarantine
            (tenant, productID, deviceID, field, time, value, reason, createAt, deviceIntID, journalID)
          values ${some.map(() => "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").join(", ")}`,
        args,
      },
      {
        sql: "delete from quarantine where id <= (select max(id) from quarantine) - ?",
        args: [quarantineRowsMax],
      },
    ]);
  }
}

/** How many points of a device's messages the series store has refused. */
export async function pointsRefused(db: Db, deviceIntID: number): Promise<number> {
  const row = await db.first<{ points: number }>("select points from series_refused where deviceIntID = ?", [
    deviceIntID,
  ]);
  return row?.points ?? 0;
}
