/** Which processes of a cluster are there, and which of them has which shard. */
export const clusterSchema: readonly string[] = [
  // `owner` distinguishes a process from another with the same number. `beat` is counted up while the process is there:
  // others look at whether it changes, so that no two clocks are ever compared. `leaving`: it hands its shards over.
  `create table cluster_node (
    number integer primary key,
    owner text not null,
    beat integer not null,
    leaving integer not null default 0
  ) strict`,
  // Without a row, or without a node: free. `changeAt` is for people who look into it.
  `create table shard_owner (
    shard integer primary key,
    node integer,
    owner text,
    changeAt integer not null,
    check ((node is null) = (owner is null))
  ) strict`,
];

/** What a process of the cluster cannot do for the time being. */
export const clusterLacksSchema: readonly string[] = [
  // `able`: it reaches the brokers. `refuses`: shards that it does not want, since it could not open them: JSON.
  "alter table cluster_node add column able integer not null default 1",
  "alter table cluster_node add column refuses text not null default '[]'",
];

/** Facts about records that crash the owner of their shard. They move with the shard. */
export const shardCrashesSchema: readonly string[] = [
  // What a follower of the shard's journal has in work, as JSON; without a row: nothing.
  `create table shard_work (
    shard integer not null,
    follower text not null,
    work text not null,
    primary key (shard, follower)
  ) strict, without rowid`,
  // Dead letters, as whole records.
  `create table shard_aside (
    journalID integer not null,
    follower text not null,
    shard integer not null,
    device integer not null,
    topic text not null,
    receivedAt integer not null,
    reason text not null,
    asideAt integer not null,
    record blob not null,
    primary key (journalID, follower)
  ) strict`,
  "create index shard_aside_shard on shard_aside (shard)",
];
