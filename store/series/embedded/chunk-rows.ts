/** The rows of chunks in a file of points: listed, loaded and verified, written. */

import type { InStatement, Row } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { asError, StoreError } from "../../lib/errors.js";
import { type ChunkHead, chunkSum, sealLast, type VerifiedChunks } from "./checksums.js";
import { type ChunkSpan, decodeChunk, encodeChunk } from "./chunks.js";
import { firstTime, lastTime, type Run } from "./columns.js";
import { whileBusy } from "./sqlite.js";

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
  readonly text: boolean;
  readonly data: Uint8Array;
}

/** A chunk that cannot be answered. */
export interface ChunkFault extends StoredChunk {
  readonly series: number;
  readonly fault: string;
}

/** What both a connection and its open transaction can do. */
interface Executor {
  execute(statement: InStatement): Promise<{ readonly rows: Row[] }>;
}

/** Chunks of a series that hold any time in [start, stop), in no particular order. */
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
  return rows.map(toStoredChunk);
}

/** A chunk of few texts may still be long. */
export interface StoredTexts extends StoredChunk {
  readonly bytes: number;
}

/** As `listChunks`, of a series of texts. */
export async function listTexts(
  db: Executor,
  series: number,
  range: { start: number; stop: number },
): Promise<StoredTexts[]> {
  const { rows } = await whileBusy(() =>
    db.execute({
      sql: "select id, start, stop, n, length(data) from chunk where series = ? and stop >= ? and start < ?",
      args: [BigInt(series), BigInt(range.start), BigInt(range.stop)],
    }),
  );
  return rows.map((row) => ({ ...toStoredChunk(row), bytes: Number(row[4]) }));
}

/** How chunks are verified as they are loaded. */
export interface Verifying {
  onFault(fault: ChunkFault): void;
  /** Chunks that need not be verified again. */
  readonly verified?: VerifiedChunks | undefined;
}

/**
 * The columns of chunks of one series by their ids, in id order: the order in which later ones win. Damaged chunks
 * are left out and reported to `onFault`. A chunk from before there were checksums is taken as it is.
 */
export async function loadChunks(
  db: Executor,
  series: number,
  chunks: readonly StoredChunk[],
  text: boolean,
  { onFault, verified }: Verifying,
): Promise<{ id: number; run: Run }[]> {
  const loaded: { id: number; run: Run }[] = [];
  for (const { span, row } of await readChunkRows(db, chunks)) {
    let run: Run | Error | null =
      row instanceof Error ? row : decoded(row, { ...span, series }, text, verified);
    // It may have been written anew since it was listed: its row says what it is now.
    if (run instanceof Error && !(row instanceof Error)) run = await loadAlone(db, series, span.id, text);
    if (run instanceof Error) onFault({ ...span, series, fault: run.message });
    else if (run !== null) loaded.push({ id: span.id, run });
  }
  return loaded;
}

/**
 * A chunk as its own row describes it; null where it has since been removed or quarantined.
 * @throws StoreError CORRUPT where it is another series'
 */
async function loadAlone(
  db: Executor,
  series: number,
  id: number,
  text: boolean,
): Promise<Run | Error | null> {
  const sql = "select id, sum, data, series, start, stop, n from chunk where id = ?";
  const [row] = (await whileBusy(() => db.execute({ sql, args: [BigInt(id)] }))).rows;
  if (row === undefined) return null;
  const [of, start, stop, points] = [row[3], row[4], row[5], row[6]].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  if (of === -series) return null;
  // Ids are never given to another series: the index has led to the wrong row, and may hide others.
  if (of !== series)
    throw new StoreError(
      "CORRUPT",
      `the index of chunks leads to chunk ${id} of series ${of} for one of ${series}`,
    );
  return decoded(row, { id, series, start, stop, points }, text, undefined);
}

/** A row for each chunk, or why it cannot be read. Chunks that have since been removed are left out. */
async function readChunkRows(
  db: Executor,
  chunks: readonly StoredChunk[],
): Promise<{ span: StoredChunk; row: Row | Error }[]> {
  const ids = chunks.map((chunk) => chunk.id).join();
  // Reading a column costs more than what it holds: what the list has said is not read again, the checksum covers it.
  const sql = `select id, sum, data from chunk where id in (${ids}) order by id`;
  try {
    const { rows } = await whileBusy(() => db.execute({ sql, args: [] }));
    const spans = new Map(chunks.map((chunk) => [chunk.id, chunk]));
    return rows.flatMap((row) => {
      const span = spans.get(Number(row[0]));
      return span === undefined ? [] : [{ span, row }];
    });
  } catch (error) {
    if (!isDamage(error)) throw error;
    const [span] = chunks;
    if (chunks.length === 1 && span !== undefined) return [{ span, row: asError(error) }];
  }
  // One page is bad: chunks on other pages can be read one by one.
  const found: { span: StoredChunk; row: Row | Error }[] = [];
  for (const chunk of chunks.toSorted((a, b) => a.id - b.id))
    found.push(...(await readChunkRows(db, [chunk])));
  return found;
}

function decoded(
  row: Row,
  head: ChunkHead & { readonly id: number },
  text: boolean,
  verified: VerifiedChunks | undefined,
): Run | Error {
  const data = row[2] as ArrayBuffer;
  if (row[1] !== null) {
    const sum = Number(row[1]);
    if (!verified?.has(head.id, sum)) {
      if (sum !== chunkSum(head, new Uint8Array(data))) return new Error("its checksum differs");
      verified?.add(head.id, sum);
    }
  }
  try {
    return decodeChunk(data, head.points, text);
  } catch (error) {
    return asError(error);
  }
}

/** Some of a series' points, at most one chunk of them. */
export interface ChunkPiece {
  readonly series: number;
  readonly run: Run;
}

export const newChunk = ({ series, run }: ChunkPiece): NewChunk => ({
  series,
  start: firstTime(run),
  stop: lastTime(run),
  points: run.times.length,
  text: Array.isArray(run.values),
  data: encodeChunk(run),
});

export async function insertChunks(db: Executor, chunks: readonly NewChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  await db.execute({
    sql: `insert into chunk(id, series, start, stop, n, sum, tail, data)
      values ${chunks.map(() => "(?, ?, ?, ?, ?, ?, ?, ?)").join()}`,
    args: chunks.flatMap((chunk) => [
      chunk.id === undefined ? null : BigInt(chunk.id),
      BigInt(chunk.series),
      BigInt(chunk.start),
      BigInt(chunk.stop),
      BigInt(chunk.points),
      BigInt(chunkSum(chunk, chunk.data)),
      chunk.text ? null : sealLast(chunk, chunk.data),
      chunk.data,
    ]),
  });
}

/** Takes a damaged chunk out of its series; the row stays in the file, under the series' negated id. */
export async function quarantineChunkRow(db: Executor, id: number): Promise<void> {
  await db.execute({
    sql: "update chunk set series = -series where id = ? and series > 0",
    args: [BigInt(id)],
  });
}

export async function deleteChunks(db: Executor, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await db.execute(`delete from chunk where id in (${ids.join()})`);
}

export function toStoredChunk(row: Row): StoredChunk {
  return { id: Number(row[0]), start: Number(row[1]), stop: Number(row[2]), points: Number(row[3]) };
}
