/** What the metadata store about InfluxDB. */

import type { BucketOrigin, FieldConflict, InfluxLedger } from "../series/influx/ledger.js";
import type { Db } from "./db/db.js";

/** The data point of the field, or its product, has been deleted: the field is not asked for again. */
const orphaned = `not exists (select 1 from product p join data_point d on d.productIntID = p.id
  where p.productID = c.productID and d.field = c.field)`;

/**
 * `bucket`: the bucket's name with that of its organization.
 * @param place of the InfluxDB in the list of them, from 0
 */
export function openInfluxLedger(
  db: Db,
  { org, bucket }: { org: string; bucket: string },
  place: number,
): InfluxLedger {
  const key = [org, bucket, place] as const;
  return {
    bucketOrigin: async () => {
      const row = await db.first<{ origin: BucketOrigin }>(
        "select origin from influx_bucket where org = ? and bucket = ? and place = ?",
        key,
      );
      return row?.origin ?? null;
    },
    keepBucketOrigin: async (origin) => {
      await db.write([
        {
          sql: `insert into influx_bucket (org, bucket, place, origin) values (?, ?, ?, ?)
            on conflict do update set origin = excluded.origin`,
          args: [...key, origin],
        },
      ]);
    },
    conflicts: async () => {
      const rows = await db.all<FieldConflict & { orphaned: number }>(
        `select productID, field, shard, stop, start, heldAs, ${orphaned} orphaned
          from influx_conflict c where org = ? and bucket = ? and place = ?`,
        key,
      );
      if (rows.some((row) => row.orphaned === 1)) {
        await db.write([{ sql: `delete from influx_conflict as c where ${orphaned}`, args: [] }]);
      }
      return rows.filter((row) => row.orphaned === 0).map(({ orphaned: _, ...conflict }) => conflict);
    },
    keepConflict: async ({ productID, field, shard, stop, start, heldAs }) => {
      await db.write([
        {
          sql: `insert into influx_conflict (org, bucket, place, productID, field, shard, stop, start, heldAs)
            values (?, ?, ?, ?, ?, ?, ?, ?, ?)
            on conflict do update set start = min(start, excluded.start), heldAs = excluded.heldAs`,
          args: [...key, productID, field, shard, stop, start, heldAs],
        },
      ]);
    },
    endConflict: async ({ productID, field, shard }) => {
      await db.write([
        {
          sql: `delete from influx_conflict
            where org = ? and bucket = ? and place = ? and productID = ? and field = ? and shard = ?`,
          args: [...key, productID, field, shard],
        },
      ]);
    },
  };
}
