/** A file of points: how it is made, opened and recognised, and what lies in it. */

import { existsSync, statSync } from "node:fs";
import type { Client } from "@libsql/client/sqlite3";
import { closeFile } from "../../files/closing.js";
import { headFault } from "../../files/database-file.js";
import { StoreError } from "../../lib/errors.js";
import type { RemovedPoints } from "../series.js";
import { newerFormat, partFormat } from "./catalog-schema.js";
import { openFile, type Pragmas, whileBusy } from "./sqlite.js";

// sum: checksum; tail: the last value of a number chunk (checksums.ts); both null in chunks from before format 2
const schema = [
  `create table if not exists chunk(
    id integer primary key autoincrement, series integer not null, start integer not null, stop integer not null,
    n integer not null, sum integer, tail blob, data blob not null) strict`,
  "create index if not exists chunk_series on chunk(series, stop, start)",
];
/** Rows stay as they are, and get what they lack when they are next written. */
const toFormat2 = ["alter table chunk add column sum integer", "alter table chunk add column tail blob"];

/** 16 KiB pages: a million points in 33-point chunks take 17.8 MB, in full ones 16.6 MB; smaller pages write slower. */
const writerPragmas: Pragmas = {
  page_size: 16384,
  journal_mode: "wal",
  synchronous: 2,
  wal_autocheckpoint: 256,
  cache_size: -8192,
};
const readerPragmas: Pragmas = { query_only: 1, cache_size: -1024 };

/**
 * Opens a file of points for writing, brought to this format; made if `isNew`. @throws StoreError CORRUPT when it is
 * damaged, or empty and not new, UNAVAILABLE for a newer format.
 */
export async function openPartFile(path: string, isNew: boolean): Promise<Client> {
  const client = await openFile(path, writerPragmas);
  try {
    const version = await readPartFormat(client, path);
    if (version === 0 && !isNew) throw lostFormat(path);
    if (version < partFormat) {
      const steps = version === 0 ? schema : toFormat2;
      await client.batch([...steps, `pragma user_version = ${partFormat}`], "write");
    }
    return client;
  } catch (error) {
    await closeFile(client);
    throw error;
  }
}

/** Whether a file that exists is a sound database without chunks, or is empty. */
export async function isBlank(path: string): Promise<boolean> {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === 0 && !existsSync(`${path}-wal`)) return true;
  if (size === undefined || size === 0 || (await headFault(path).catch(() => "unreadable")) !== null)
    return false;
  try {
    const client = await openFile(path, { query_only: 1 });
    try {
      const isOurs = (await readPartFormat(client, path)) > 0;
      const { rows } = await client.execute("select 1 from sqlite_master limit 1");
      if (rows.length === 0) return true;
      return isOurs && (await client.execute("select 1 from chunk limit 1")).rows.length === 0;
    } finally {
      await closeFile(client);
    }
  } catch {
    // Whatever it is, it is not ours to write into.
    return false;
  }
}

/** @throws StoreError CORRUPT when the file is missing or damaged, UNAVAILABLE for a newer format. */
export async function openPartFileToRead(path: string): Promise<Client> {
  // Opening a missing file would make an empty one.
  if (!existsSync(path)) throw new StoreError("CORRUPT", `cannot open ${path}: it is missing`);
  const client = await openFile(path, readerPragmas);
  try {
    const version = await whileBusy(() => readPartFormat(client, path));
    if (version < partFormat) throw lostFormat(path);
    return client;
  } catch (error) {
    await closeFile(client);
    throw error;
  }
}

const lostFormat = (path: string): StoreError =>
  new StoreError("CORRUPT", `cannot open ${path}: it has lost its format`);

async function readPartFormat(client: Client, path: string): Promise<number> {
  const version = Number((await client.execute("pragma user_version")).rows[0]?.[0] ?? 0);
  if (version > partFormat) throw newerFormat(path, version, partFormat);
  return version;
}

/** How many points a file holds, and the time of the oldest. */
export async function countPoints(db: Client): Promise<RemovedPoints> {
  const { rows } = await db.execute("select sum(n), min(start) from chunk where series > 0");
  const [points = null, oldest = null] = [rows[0]?.[0], rows[0]?.[1]];
  return { points: Number(points ?? 0), oldest: oldest === null ? null : Number(oldest) };
}

/** First and last time that a file holds; null where it is empty. Scans the index. */
export async function storedTimes(db: Client): Promise<{ low: number; high: number } | null> {
  const { rows } = await db.execute("select min(start), max(stop) from chunk where series > 0");
  const [low = null, high = null] = [rows[0]?.[0], rows[0]?.[1]];
  return low === null || high === null ? null : { low: Number(low), high: Number(high) };
}

/**
 * Ids of series that have chunks in a file, ascending: the first `limit` above `after`. Series with only quarantined
 * chunks count: those are deleted with the series, whose ids are never given again.
 */
export async function storedSeries(db: Client, after: number, limit: number): Promise<number[]> {
  const { rows } = await db.execute({
    sql: `select * from (select distinct series id from chunk where series > ?1 order by series limit ?2)
      union select * from (select distinct -series from chunk where series < -?1 order by series desc limit ?2)
      order by id limit ?2`,
    args: [BigInt(after), BigInt(limit)],
  });
  return rows.map((row) => Number(row[0]));
}
