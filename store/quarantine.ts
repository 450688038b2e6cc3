import type { Db } from "./db.js";
import type { RefusedPoint } from "./series.js";
import { insertInto } from "./table.js";

/** The newest refused points kept for a person to look at. */
export const quarantineRowsMax = 100_000;

export async function quarantine(db: Db, now: number, refused: readonly RefusedPoint[]): Promise<void> {
  if (refused.length === 0) return;
  await db.write([
    ...refused.map(({ point, reason }) =>
      insertInto("quarantine", {
        tenant: point.series.tenant,
        productID: point.series.productID,
        deviceID: point.series.deviceID,
        field: point.series.field,
        time: point.time,
        value: String(point.value),
        reason,
        createAt: now,
      }),
    ),
    {
      sql: "delete from quarantine where id <= (select max(id) from quarantine) - ?",
      args: [quarantineRowsMax],
    },
  ]);
}
