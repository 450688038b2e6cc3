/** Where the journal is kept besides the disks of its processes: one row, or none. */
export const journalSchema: readonly string[] = [
  `create table journal_topic (
    only integer primary key check (only = 1),
    deployment text not null,
    clusterID text not null,
    topicID text not null,
    topic text not null,
    createAt integer not null
  ) strict`,
];
