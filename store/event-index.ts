import { type Client, createClient } from "@libsql/client";
import type { Log, Posting, SegmentIndex } from "./event-postings.js";

/**
 * The index of closed segments, a libSQL file of its own: one row an owner (device or tenant) and segment, with
 * the offsets of its records. It can be lost: every row is rebuilt from the segments.
 */
const schema = [
  "create table if not exists segment (id integer primary key, firstID integer not null unique) strict",
  `create table if not exists posting (
    scope text not null, owner integer not null, log integer not null, segment integer not null,
    count integer not null, offsets blob not null) strict`,
  "create unique index if not exists posting_owner on posting (scope, owner, log, segment, count)",
];

export type Scope = "device" | "tenant";

const rowsPerInsert = 200;

/** Opens the index file. Used by the main thread to read and by the index worker to write. */
export async function openEventIndexFile(path: string): Promise<Client> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  await client.execute("pragma journal_mode = wal");
  await client.execute("pragma synchronous = normal");
  await client.execute("pragma busy_timeout = 5000");
  await client.batch(schema, "write");
  return client;
}

/** Stores a segment's postings whole; storing it again changes nothing. */
export async function storeSegmentIndex(client: Client, firstID: number, index: SegmentIndex): Promise<void> {
  const transaction = await client.transaction("write");
  try {
    const made = await transaction.execute({
      sql: "insert or ignore into segment (firstID) values (?)",
      args: [firstID],
    });
    if (made.rowsAffected > 0) {
      const segment = Number(made.lastInsertRowid);
      const insert = async (scope: Scope, postings: readonly Posting[]) => {
        for (let at = 0; at < postings.length; at += rowsPerInsert) {
          const some = postings.slice(at, at + rowsPerInsert);
          await transaction.execute({
            sql: `insert into posting (scope, owner, log, segment, count, offsets)
              values ${some.map(() => "(?, ?, ?, ?, ?, ?)").join(", ")}`,
            args: some.flatMap((one) => [
              scope,
              one.owner,
              one.log,
              segment,
              one.count,
              new Uint8Array(one.offsets.buffer),
            ]),
          });
        }
      };
      await insert("device", index.devices());
      await insert("tenant", index.tenants());
    }
    await transaction.commit();
  } finally {
    transaction.close();
  }
}

/** First ids of the segments that the index covers. */
export async function indexedSegments(client: Client): Promise<number[]> {
  const { rows } = await client.execute("select firstID from segment");
  return rows.map((row) => Number(row.firstID));
}

/** Forgets a segment that is gone, in small steps so that readers are not held up. */
export async function forgetSegment(client: Client, firstID: number): Promise<void> {
  const { rows } = await client.execute({ sql: "select id from segment where firstID = ?", args: [firstID] });
  const segment = rows[0]?.id;
  if (segment === undefined) return;
  await client.execute({ sql: "delete from segment where id = ?", args: [segment] });
  for (let affected = 1; affected > 0; ) {
    const result = await client.execute({
      sql: "delete from posting where rowid in (select rowid from posting where segment = ? limit 1000)",
      args: [segment],
    });
    affected = result.rowsAffected;
  }
}

/** Records of some owners: per segment, newest first. */
export async function countsBySegment(
  client: Client,
  scope: Scope,
  owners: readonly number[],
  logs: readonly Log[],
): Promise<{ firstID: number; count: number }[]> {
  const { rows } = await client.execute({
    sql: `select s.firstID, sum(p.count) n from posting p join segment s on s.id = p.segment
      where p.scope = ? and p.owner in (select value from json_each(?))
        and p.log in (select value from json_each(?))
      group by s.firstID order by s.firstID desc`,
    args: [scope, JSON.stringify(owners), JSON.stringify(logs)],
  });
  return rows.map((row) => ({ firstID: Number(row.firstID), count: Number(row.n) }));
}

/** The newest `count` offsets of some owners in one segment after skipping `skip`, newest first. */
export async function offsetsIn(
  client: Client,
  scope: Scope,
  owners: readonly number[],
  logs: readonly Log[],
  firstID: number,
  skip: number,
  count: number,
): Promise<number[]> {
  const { rows } = await client.execute({
    sql: `select p.offsets from posting p where p.scope = ? and p.log in (select value from json_each(?))
      and p.segment = (select id from segment where firstID = ?)
      and p.owner in (select value from json_each(?))`,
    args: [scope, JSON.stringify(logs), firstID, JSON.stringify(owners)],
  });
  const lists = rows.map((row) => new Uint32Array(row.offsets as ArrayBuffer));
  const only = lists[0];
  if (only === undefined) return [];
  const merged = lists.length === 1 ? only : mergeAscending(lists);
  return [...merged.subarray(Math.max(0, merged.length - skip - count), merged.length - skip)].reverse();
}

function mergeAscending(lists: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(lists.reduce((sum, list) => sum + list.length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all.sort();
}
