/** Stores which records may crash the owner of their shard: those in work, and the dead letters. */
import type { DeadLetter } from "../../journal/dead-letters.js";
import type { Db } from "../db/db.js";

/** By follower of the shard's journal: what it had in work, as JSON. */
export async function readShardWork(db: Pick<Db, "all">, shard: number): Promise<Map<string, string>> {
  const rows = await db.all<{ follower: string; work: string }>(
    "select follower, work from shard_work where shard = ?",
    [shard],
  );
  return new Map(rows.map(({ follower, work }) => [follower, work]));
}

/** Null: it has nothing in work. */
export async function writeShardWork(
  db: Pick<Db, "write">,
  shard: number,
  follower: string,
  work: string | null,
): Promise<void> {
  const sql =
    work === null
      ? "delete from shard_work where shard = ? and follower = ?"
      : `insert into shard_work (shard, follower, work) values (?, ?, ?)
         on conflict do update set work = excluded.work`;
  await db.write([{ sql, args: [shard, follower, ...(work === null ? [] : [work])] }]);
}

/** Reads those of one shard, or of all (null); ordered by journal id and follower. */
export function readDeadLetters(db: Pick<Db, "all">, shard: number | null): Promise<DeadLetter[]> {
  const [where, args] = shard === null ? ["", []] : ["where shard = ?", [shard]];
  return db.all(
    `select follower, journalID as id, device, topic, receivedAt, reason, asideAt
     from shard_aside ${where} order by journalID, follower`,
    args,
  );
}

export async function writeDeadLetter(
  db: Pick<Db, "write">,
  shard: number,
  { follower, id, device, topic, receivedAt, reason, asideAt }: DeadLetter,
  record: Uint8Array,
): Promise<void> {
  await db.write([
    {
      sql: `insert or replace into shard_aside
          (journalID, follower, shard, device, topic, receivedAt, reason, asideAt, record)
        values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      args: [id, follower, shard, device, topic, receivedAt, reason, asideAt, record],
    },
  ]);
}

/** The record; undefined: it is no dead letter. */
export async function readDeadLetterRecord(
  db: Pick<Db, "first">,
  id: number,
  follower: string,
): Promise<Uint8Array | undefined> {
  const row = await db.first<{ record: ArrayBuffer | Uint8Array }>(
    "select record from shard_aside where journalID = ? and follower = ?",
    [id, follower],
  );
  return row === undefined ? undefined : new Uint8Array(row.record);
}

export async function removeDeadLetter(db: Pick<Db, "write">, id: number, follower: string): Promise<void> {
  await db.write([
    { sql: "delete from shard_aside where journalID = ? and follower = ?", args: [id, follower] },
  ]);
}
