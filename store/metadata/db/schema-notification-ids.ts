/** Ids of notifications that no other deployment has, nor this one after a restore; and how much mail each tenant sends. */
export const notificationIDsSchema: readonly string[] = [
  // One row: what identifies this deployment.
  "create table deployment (only integer primary key check (only = 1), id text not null) strict",
  "insert into deployment (only, id) values (1, lower(hex(randomblob(8))))",
  // The random part of the id that receivers see.
  "alter table notification add column messageKey text not null default ''",
  "update notification set messageKey = lower(hex(randomblob(8)))",
  // Recipients of a minute since 1970; `tests` of them got a test.
  `create table mail_minute (
    tenant integer not null references tenant (id),
    minute integer not null,
    recipients integer not null,
    tests integer not null,
    primary key (tenant, minute)
  ) strict, without rowid`,
];
