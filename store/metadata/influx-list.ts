/** The InfluxDBs that have a deployment's points: how many there are, and in which order. */
import type { Db } from "./db/db.js";

/** Notes the number unless there is one; resolves with the one that counts: of processes that start at once, the first's. */
export async function keepInfluxCount(db: Db, count: number): Promise<number> {
  const places = Array.from({ length: count }, (_, place) => place);
  await db.write([
    {
      sql: `insert into influx_server (place) select value from json_each(?)
        where not exists (select 1 from influx_server)`,
      args: [JSON.stringify(places)],
    },
  ]);
  const row = await db.first<{ count: number }>("select count(*) count from influx_server");
  return row?.count ?? count;
}

/**
 * Notes among how many shards devices are shared out. If they were another number before, points may be in any of the
 * list: all that is there now counts as moved.
 */
export async function keepInfluxShards(db: Db, count: number): Promise<void> {
  await db.write([
    {
      sql: `insert or ignore into device_moved (device) select id from device
        where coalesce(gateway, parentDevice) is null
          and exists (select 1 from influx_shards where count <> ?)`,
      args: [count],
    },
    {
      sql: "insert into influx_shards (only, count) values (1, ?) on conflict do update set count = excluded.count",
      args: [count],
    },
  ]);
}

/** The points are nowhere in InfluxDB any more: the next list may be another. */
export async function forgetInfluxList(db: Db): Promise<void> {
  await db.write([{ sql: "delete from influx_server" }, { sql: "delete from influx_shards" }]);
}

/**
 * Notes which bucket the InfluxDB of a place has. Resolves with the place that has that bucket: another one if it is
 * known from there. `before`: the bucket that the place had.
 */
export async function keepInfluxBucket(
  db: Db,
  place: number,
  bucketID: string,
): Promise<{ readonly place: number; readonly before: string | null }> {
  const before = await db.first<{ bucketID: string | null }>(
    "select bucketID from influx_server where place = ?",
    [place],
  );
  await db.write([
    {
      sql: `update influx_server set bucketID = ? where place = ?
        and not exists (select 1 from influx_server where bucketID = ?)`,
      args: [bucketID, place, bucketID],
    },
  ]);
  const has = await db.first<{ place: number }>("select place from influx_server where bucketID = ?", [
    bucketID,
  ]);
  return { place: has?.place ?? place, before: before?.bucketID ?? null };
}
