/** Several InfluxDBs, each with a part of the points, and which devices may have points in more than one. */
export const influxListSchema: readonly string[] = [
  // A row for each of them, from place 0: their number and order are for good. `bucketID`: once it has been seen.
  `create table influx_server (
    place integer primary key,
    bucketID text unique
  ) strict`,
  // Deployments from before there were lists have had one, if any.
  `insert into influx_server (place) select 0
    where exists (select 1 from influx_bucket) or exists (select 1 from checkpoint where consumer = 'series')`,
  "alter table influx_bucket rename to influx_bucket_before",
  `create table influx_bucket (
    org text not null,
    bucket text not null,
    place integer not null,
    origin text not null,
    primary key (org, bucket, place)
  ) strict, without rowid`,
  "insert into influx_bucket (org, bucket, place, origin) select org, bucket, 0, origin from influx_bucket_before",
  "drop table influx_bucket_before",
  "alter table influx_conflict rename to influx_conflict_before",
  `create table influx_conflict (
    org text not null,
    bucket text not null,
    place integer not null,
    productID text not null,
    field text not null,
    shard integer not null,
    stop integer not null,
    start integer not null,
    heldAs text not null,
    primary key (org, bucket, place, productID, field, shard)
  ) strict, without rowid`,
  `insert into influx_conflict (org, bucket, place, productID, field, shard, stop, start, heldAs)
    select org, bucket, 0, productID, field, shard, stop, start, heldAs from influx_conflict_before`,
  "drop table influx_conflict_before",
  // Devices that have had another gateway or parent device, or none, before: what is below them has been elsewhere too.
  `create table device_moved (
    device integer primary key
  ) strict`,
  `create trigger device_moves after update of gateway, parentDevice on device
    when coalesce(old.gateway, old.parentDevice) is not coalesce(new.gateway, new.parentDevice)
    begin insert or ignore into device_moved (device) values (new.id); end`,
  `create trigger device_moved_gone after delete on device
    begin delete from device_moved where device = old.id; end`,
];

/** Among how many shards devices were shared out when a list of InfluxDBs was used the last time. */
export const influxShardsSchema: readonly string[] = [
  `create table influx_shards (
    only integer primary key check (only = 1),
    count integer not null
  ) strict`,
];
