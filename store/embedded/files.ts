import type { Client, InStatement, Row } from "@libsql/client/sqlite3";
import { newerFormat, SERIES_FORMAT } from "./catalog.js";
import { type ChunkSpan, decodeChunk } from "./chunks.js";
import type { Run } from "./columns.js";
import { openFile, type Pragmas, whileBusy } from "./sqlite.js";

const DDL = [
  `create table if not exists chunk(
    id integer primary key autoincrement, series integer not null, start integer not null, stop integer not null,
    n integer not null, data blob not null) strict`,
  "create index if not exists chunk_series on chunk(series, stop, start)",
];

/** 16 KiB pages: a million points in 33-point chunks take 17.8 MB, in full ones 16.6 MB; smaller pages write slower. */
const WRITER_PRAGMAS: Pragmas = {
  page_size: 16384,
  journal_mode: "wal",
  synchronous: 2,
  wal_autocheckpoint: 256,
  cache_size: -8192,
};
const READER_PRAGMAS: Pragmas = { query_only: 1, cache_size: -1024 };

export interface StoredChunk extends ChunkSpan {
  readonly points: number;
}

export interface NewChunk {
  /** Given when the chunk takes the place of one that was removed in the same transaction. */
  readonly id?: number;
  readonly series: number;
  readonly start: number;
  readonly stop: number;
  readonly points: number;
  readonly data: Uint8Array;
}

/** What both a connection and its open transaction can do. */
export interface Executor {
  execute(statement: InStatement): Promise<{ readonly rows: Row[] }>;
}

/** Opens a month file for writing, made if missing. @throws StoreError CORRUPT for a newer format. */
export async function openMonthFile(path: string): Promise<Client> {
  const client = await openFile(path, WRITER_PRAGMAS);
  try {
    const version = await formatOf(client, path);
    if (version < SERIES_FORMAT)
      await client.batch([...DDL, `pragma user_version = ${SERIES_FORMAT}`], "write");
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

export async function openMonthFileToRead(path: string): Promise<Client> {
  const client = await openFile(path, READER_PRAGMAS);
  try {
    await whileBusy(() => formatOf(client, path));
    return client;
  } catch (error) {
    client.close();
    throw error;
  }
}

async function formatOf(client: Client, path: string): Promise<number> {
  const version = Number((await client.execute("pragma user_version")).rows[0]?.[0] ?? 0);
  if (version > SERIES_FORMAT) throw newerFormat(path, version);
  return version;
}

/** Chunks of a series that hold any time in [start, stop), in no order. */
export async function listChunks(
  db: Executor,
  series: number,
  range: { start: number; stop: number },
): Promise<StoredChunk[]> {
  const { rows } = await whileBusy(() =>
    db.execute({
      sql: "select id, start, stop, n from chunk where series = ? and stop >= ? and start < ?",
      args: [BigInt(series), BigInt(range.start), BigInt(range.stop)],
    }),
  );
  return rows.map(asStored);
}

/** The columns of chunks by their ids, in id order: the order in which later ones win. */
export async function loadChunks(
  db: Executor,
  chunks: readonly { readonly id: number }[],
  text: boolean,
): Promise<{ id: number; run: Run }[]> {
  const { rows } = await whileBusy(() =>
    db.execute({
      sql: `select id, n, data from chunk where id in (${chunks.map((chunk) => chunk.id).join()}) order by id`,
      args: [],
    }),
  );
  return rows.map((row) => ({
    id: Number(row[0]),
    run: decodeChunk(row[2] as ArrayBuffer, Number(row[1]), text),
  }));
}

export async function insertChunks(db: Executor, chunks: readonly NewChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  await db.execute({
    sql: `insert into chunk(id, series, start, stop, n, data) values ${chunks.map(() => "(?, ?, ?, ?, ?, ?)").join()}`,
    args: chunks.flatMap(({ id, series, start, stop, points, data }) => [
      id === undefined ? null : BigInt(id),
      BigInt(series),
      BigInt(start),
      BigInt(stop),
      BigInt(points),
      data,
    ]),
  });
}

export async function deleteChunks(db: Executor, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await db.execute(`delete from chunk where id in (${ids.join()})`);
}

export function asStored(row: Row): StoredChunk {
  return { id: Number(row[0]), start: Number(row[1]), stop: Number(row[2]), points: Number(row[3]) };
}
