/** Plans of schedules know the rules that they follow from; processes publish which rules they have. */
export const timeZonesSchema: readonly string[] = [
  // For cron schedules. ranWall: the wall-clock time of the last run or skipped run, milliseconds as if it were UTC.
  "alter table schedule add column ranWall integer",
  // Which rules of a zone nextAt follows from; null: it was made before they were noted.
  "alter table schedule add column zoneRules text",
  // version: of the rules of all zones, null: not known. seenAt: seconds since 1970, by the database.
  `create table time_zone_version (
    node integer primary key,
    version text,
    seenAt integer not null
  ) strict`,
];
