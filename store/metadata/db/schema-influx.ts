/** Facts about InfluxDB's bucket, and which refused points have been counted. */
export const influxSchema: readonly string[] = [
  // Whether the bucket is ours, so that we may make it again.
  `create table influx_bucket (
    org text not null,
    bucket text not null,
    origin text not null,
    primary key (org, bucket)
  ) strict, without rowid`,
  // Fields that another writer has written with another type; kept until a point of ours is taken there.
  `create table influx_conflict (
    org text not null,
    bucket text not null,
    productID text not null,
    field text not null,
    shard integer not null,
    stop integer not null,
    start integer not null,
    heldAs text not null,
    primary key (org, bucket, productID, field, shard)
  ) strict, without rowid`,
  // The message that brought a refused point: after a kill the point is refused again, but counted only once.
  "alter table quarantine add column deviceIntID integer",
  "alter table quarantine add column journalID integer",
  `create unique index quarantine_once on quarantine (journalID, deviceIntID, field, time)
    where journalID is not null`,
  `create table series_refused (
    deviceIntID integer primary key,
    points integer not null
  ) strict`,
  `create trigger quarantine_counted after insert on quarantine when new.journalID is not null
    begin insert into series_refused (deviceIntID, points) values (new.deviceIntID, 1)
      on conflict do update set points = points + 1; end`,
  `create trigger series_refused_gone after delete on device
    begin delete from series_refused where deviceIntID = old.id; end`,
];
