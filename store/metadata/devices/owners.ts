import type { Db } from "../db/db.js";

/** A device as the name of its series. */
interface SeriesOwnerRow {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly productIntID: number;
  readonly productID: string;
}

/** Devices and gateways of all tenants in the order of their ids, some at a time. */
export async function* seriesOwners(
  db: Db,
  after: number,
  limit: number,
): AsyncGenerator<readonly SeriesOwnerRow[]> {
  for (let last = after; ; ) {
    const rows = await db.all<SeriesOwnerRow>(
      `select d.id, d.tenant, d.deviceID, d.productIntID, p.productID from device d
       join product p on p.id = d.productIntID where d.id > ? order by d.id limit ?`,
      [last, limit],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    last = rows.at(-1)?.id ?? last;
  }
}

export async function countSeriesOwners(db: Db): Promise<number> {
  return (await db.first<{ n: number }>("select count(*) n from device"))?.n ?? 0;
}
