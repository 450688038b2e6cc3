/**
 * An action on many devices: whom it is for, in parts that are worked off one after the other, and what has become of
 * them. It goes with its task.
 */
export const bulkSchema: readonly string[] = [
  // total: null until all parts are there. lastLog: the newest control log before those of the part taken last.
  `create table bulk_action (
    id integer primary key autoincrement,
    task text not null unique references task (id) on delete cascade,
    total integer,
    part integer not null default 0,
    done integer not null default 0,
    failed integer not null default 0,
    errors text not null default '[]',
    lastLog integer not null default 0
  ) strict`,
  // ids: JSON.
  `create table bulk_part (
    bulkIntID integer not null references bulk_action (id) on delete cascade,
    part integer not null,
    ids text not null,
    primary key (bulkIntID, part)
  ) strict, without rowid`,
];
