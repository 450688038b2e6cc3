import type { Client } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import { connect } from "../files/connection.js";
import type { Segment } from "../journal/segment.js";
import type { Log, Posting, ReceivedTimes, SegmentIndex } from "./event-postings.js";

/**
 * The index of closed segments, a libSQL file of its own: one row for each owner (device or tenant) and segment, with
 * the offsets of the owner's records. It may be lost: every row can be rebuilt from the segments.
 */
const schema = [
  `create table if not exists segment (
    id integer primary key, firstID integer not null unique, oldest real, newest real, bytes integer,
    disorder real) strict`,
  `create table if not exists posting (
    scope text not null, owner integer not null, log integer not null, segment integer not null,
    count integer not null, offsets blob not null) strict`,
  "create unique index if not exists posting_owner on posting (scope, owner, log, segment, count)",
];

export type PostingScope = "device" | "tenant";

const rowsPerInsert = 200;

/** Opens the index file. Used by the main thread to read and by the index worker to write. */
export async function openEventIndexFile(path: string): Promise<Client> {
  const client = connect(path);
  try {
    await client.execute("pragma journal_mode = wal");
    await client.execute("pragma synchronous = normal");
    await client.execute("pragma busy_timeout = 5000");
    await client.batch(schema, "write");
    await addSegmentColumns(client);
    return client;
  } catch (error) {
    await closeAtOnce(client, path);
    throw error;
  }
}

/** Files of earlier versions lack the columns about the segment itself. */
async function addSegmentColumns(client: Client): Promise<void> {
  const { rows } = await client.execute("select name from pragma_table_info('segment')");
  const present = rows.map(({ name }) => name);
  const added = ["oldest real", "newest real", "bytes integer", "disorder real"].filter(
    (column) => !present.includes(column.split(" ")[0] ?? ""),
  );
  await client.batch(
    added.map((column) => `alter table segment add column ${column}`),
    "write",
  );
}

/** Stores all of a segment's postings; storing them again changes nothing. */
export async function storeSegmentIndex(
  client: Client,
  { firstID, bytes }: Pick<Segment, "firstID" | "bytes">,
  index: SegmentIndex,
): Promise<void> {
  const transaction = await client.transaction("write");
  try {
    const made = await transaction.execute({
      sql: "insert or ignore into segment (firstID, oldest, newest, disorder, bytes) values (?, ?, ?, ?, ?)",
      args: [
        firstID,
        index.received?.oldest ?? null,
        index.received?.newest ?? null,
        index.received?.disorder ?? null,
        bytes,
      ],
    });
    if (made.rowsAffected > 0) {
      const segment = Number(made.lastInsertRowid);
      const insert = async (scope: PostingScope, postings: readonly Posting[]) => {
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

/** First ids of the segments that the index covers, with their bytes; null where those were not kept. */
export async function indexedSegments(client: Client): Promise<Map<number, number | null>> {
  const { rows } = await client.execute("select firstID, bytes from segment");
  return new Map(rows.map((row) => [Number(row.firstID), row.bytes === null ? null : Number(row.bytes)]));
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

/** What the index file has of some owners in one segment. */
export interface SegmentCount {
  /** The id of the segment's first record. */
  readonly firstID: number;
  readonly count: number;
  /** Null where the file does not say. */
  readonly received: ReceivedTimes | null;
}

/** How many records of some owners each segment has, newest first. */
export async function countsBySegment(
  client: Client,
  scope: PostingScope,
  owners: readonly number[],
  logs: readonly Log[],
): Promise<SegmentCount[]> {
  const { rows } = await client.execute({
    sql: `select s.firstID, s.oldest, s.newest, s.disorder, sum(p.count) n from posting p join segment s on s.id = p.segment
      where p.scope = ? and p.owner in (select value from json_each(?))
        and p.log in (select value from json_each(?))
      group by s.firstID order by s.firstID desc`,
    args: [scope, JSON.stringify(owners), JSON.stringify(logs)],
  });
  return rows.map(({ firstID, oldest, newest, disorder, n }) => ({
    firstID: Number(firstID),
    count: Number(n),
    received:
      oldest === null
        ? null
        : {
            oldest: Number(oldest),
            newest: Number(newest),
            disorder: disorder === null ? null : Number(disorder),
          },
  }));
}

/**
 * The offsets of some owners' records in one segment, newest first: `count` of them after the first `skip`, every
 * `step`th.
 */
export async function offsetsIn(
  client: Client,
  scope: PostingScope,
  owners: readonly number[],
  logs: readonly Log[],
  firstID: number,
  skip: number,
  count: number,
  step: number,
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
  const found: number[] = [];
  for (let at = merged.length - 1 - skip; at >= 0 && found.length < count; at -= step) {
    found.push(merged[at] as number);
  }
  return found;
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
