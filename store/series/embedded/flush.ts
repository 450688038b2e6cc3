import type { Transaction } from "@libsql/client/sqlite3";
import { systemClock } from "../../lib/clock.js";
import { createBreather } from "../../lib/turns.js";
import type { Catalog } from "./catalog.js";
import { CHUNK_POINTS_MAX, cutIntoChunks, encodeChunk } from "./chunks.js";
import { clipRun, firstTime, lastTime, lowerBound, mergeRuns, type Run, sliceRun } from "./columns.js";
import {
  asStored,
  type ChunkFault,
  deleteChunks,
  insertChunks,
  loadChunks,
  type NewChunk,
  type StoredChunk,
} from "./files.js";
import type { Memtable } from "./memtable.js";
import type { Mender } from "./mender.js";
import { keyOf } from "./names.js";
import { both, DamagedPart, type Parts, type StoredPart } from "./parts.js";
import type { Registry, SeriesEntry } from "./registry.js";
import { inTransaction } from "./sqlite.js";

interface Piece {
  readonly series: number;
  readonly run: Run;
}

interface PartBuffer {
  readonly part: StoredPart;
  pieces: Piece[];
  bytes: number;
}

export interface Flush {
  /** Writes what is left to write; after a failure call it again: what is committed is not written twice. */
  run(): Promise<void>;
}

const TRANSACTION_BYTES_MAX = 4 << 20;
const BUFFERED_BYTES_MAX = 32 << 20;
const INSERT_BYTES_MAX = 256 << 10;
const PIECE_BYTES = 512;
const INSERT_ROWS_MAX = 128;
const NAMED_AT_ONCE_MAX = 500;
/** Up to so many series a flush fills their last chunks up; with more, compaction does it, which costs less. */
const TOP_UP_SERIES_MAX = 2000;

/** A run as the chunk that it becomes. */
export const newChunk = ({ series, run }: Piece): NewChunk => ({
  series,
  start: firstTime(run),
  stop: lastTime(run),
  points: run.times.length,
  text: Array.isArray(run.values),
  data: encodeChunk(run),
});

/**
 * One memtable on its way into the files, in series order. Commits of a part may come in several transactions
 * and before the checkpoint: after a kill the journal brings the same points again, and equal times are one.
 */
export function createFlush(deps: {
  memtable: Memtable;
  registry: Registry;
  catalog: Catalog;
  parts: Parts;
  mender: Mender;
  checkpoint: number;
  /** Older points are being removed and are left out. */
  floor: () => number;
}): Flush {
  const { memtable, registry, catalog, parts, mender, checkpoint, floor } = deps;
  const breathe = createBreather();
  const buffers = new Map<StoredPart, PartBuffer>();
  let queue: SeriesEntry[] | undefined;
  let next = 0;
  let topUp = false;

  async function nameSeries(): Promise<SeriesEntry[]> {
    const entries = memtable.slots().map((slot) => registry.bySlot(slot));
    const unnamed = entries.filter((entry) => entry.id === 0);
    for (let i = 0; i < unnamed.length; i += NAMED_AT_ONCE_MAX) {
      const some = unnamed.slice(i, i + NAMED_AT_ONCE_MAX);
      const ids = await catalog.ids(some.map((entry) => keyOf(entry.name)));
      for (const [j, entry] of some.entries()) entry.id = ids[j] ?? 0;
      await breathe();
    }
    topUp = entries.length <= TOP_UP_SERIES_MAX;
    return entries.sort((a, b) => a.id - b.id);
  }

  async function take(entry: SeriesEntry): Promise<void> {
    const all = memtable.read(entry.slot, { start: floor() });
    if (all === null) return;
    const taken: [StoredPart, Run][] = [];
    for (let from = 0; from < all.times.length; ) {
      const first = all.times[from] ?? 0;
      const { part, until } = parts.standing(first) ?? (await ensured(first));
      const to = lowerBound(all.times, until);
      const run = sliceRun(all, from, to);
      parts.expect(part, firstTime(run), lastTime(run));
      taken.push([part, run]);
      from = to;
    }
    for (const [part, run] of taken) buffer(part, entry.id, run);
  }

  async function ensured(time: number): ReturnType<Parts["ensure"]> {
    try {
      return await parts.ensure(time);
    } catch (error) {
      if (!(error instanceof DamagedPart)) throw error;
      await mender.move(error.part, error.fault);
      return parts.ensure(time);
    }
  }

  function buffer(part: StoredPart, series: number, points: Run): void {
    const target = buffers.get(part) ?? { part, pieces: [], bytes: 0 };
    buffers.set(part, target);
    for (const run of cutIntoChunks(points)) {
      target.pieces.push({ series, run });
      target.bytes += bytesOf(run);
    }
  }

  async function writeOut(target: PartBuffer): Promise<void> {
    if (target.pieces.length === 0) return;
    const { part, pieces } = target;
    await parts.hold(
      part,
      pieces.map(({ series }) => series),
    );
    try {
      await insertInto(target);
    } catch (error) {
      if (!(error instanceof DamagedPart)) throw error;
      // What can be read of the part moves to a new file, and so do these.
      await mender.move(error.part, error.fault);
      await insertInto(target);
    }
    part.writtenAt = systemClock.monotonic();
    part.bytes += target.bytes;
    target.pieces = [];
    target.bytes = 0;
    await breathe();
  }

  function insertInto({ part, pieces }: PartBuffer): Promise<void> {
    const onFault = (fault: ChunkFault): void => mender.note(part, fault);
    return parts.use(part, (client) => inTransaction(client, (tx) => insertPieces(tx, pieces, onFault)));
  }

  async function insertPieces(
    tx: Transaction,
    pieces: readonly Piece[],
    onFault: (fault: ChunkFault) => void,
  ): Promise<void> {
    let rows: NewChunk[] = [];
    let bytes = 0;
    for (const [i, piece] of pieces.entries()) {
      const alone = pieces[i - 1]?.series !== piece.series && pieces[i + 1]?.series !== piece.series;
      const row = newChunk(topUp && alone ? await filledUp(tx, piece, onFault) : piece);
      rows.push(row);
      bytes += row.data.length;
      if (bytes < INSERT_BYTES_MAX && rows.length < INSERT_ROWS_MAX) continue;
      await insertChunks(tx, rows);
      rows = [];
      bytes = 0;
      await breathe();
    }
    await insertChunks(tx, rows);
  }

  async function writeFull(bytesMax: number): Promise<void> {
    for (const target of buffers.values()) if (target.bytes > bytesMax) await writeOut(target);
  }

  async function run(): Promise<void> {
    queue ??= await nameSeries();
    while (next < queue.length) {
      const entry = queue[next];
      if (entry !== undefined && !entry.removed) await take(entry);
      next++;
      await writeFull(TRANSACTION_BYTES_MAX);
      const buffered = [...buffers.values()].reduce((total, { bytes }) => total + bytes, 0);
      if (buffered > BUFFERED_BYTES_MAX) await writeFull(0);
      await breathe();
    }
    await writeFull(0);
    const touched = [...buffers.keys()];
    for (const part of touched)
      if (part.flushed !== undefined) part.flushed = both(part.flushed, part.coming);
    await catalog.finishFlush(
      touched.map(({ start, flushed = null }) => ({ start, flushed })),
      checkpoint,
    );
    for (const part of touched) part.loose++;
  }

  return { run };
}

/**
 * The piece together with its series' newest chunk, which it replaces, while both fit one chunk. Only the chunk
 * of the highest id may move up so: any other would begin to win over chunks written after it.
 */
async function filledUp(tx: Transaction, piece: Piece, onFault: (fault: ChunkFault) => void): Promise<Piece> {
  if (piece.run.times.length > CHUNK_POINTS_MAX / 2) return piece;
  const { rows } = await tx.execute({
    sql: `select id, start, stop, n from chunk where id = (select max(id) from chunk where series = ?1)
      and n <= ?2 and length(data) <= ?3`,
    args: [BigInt(piece.series), BigInt(CHUNK_POINTS_MAX / 2), BigInt(INSERT_BYTES_MAX)],
  });
  const [row] = rows;
  if (row === undefined) return piece;
  const [last] = await loadChunks(tx, piece.series, [asStored(row)], Array.isArray(piece.run.values), {
    onFault,
  });
  if (last === undefined) return piece;
  await deleteChunks(tx, [last.id]);
  return { series: piece.series, run: mergeRuns(last.run, piece.run) };
}

/** What a piece holds on to in memory: with three points a series that is mostly the piece itself. */
function bytesOf(run: Run): number {
  const { values } = run;
  const text = Array.isArray(values) ? values.reduce((total, value) => total + value.length, 0) : 0;
  return PIECE_BYTES + run.times.length * 16 + text;
}

/**
 * Removes a part's points older than `time` from one chunk: what is left keeps the chunk's id. A damaged one stays
 * and is told of.
 */
export async function trimChunk(
  tx: Transaction,
  chunk: StoredChunk & { readonly series: number; readonly text: boolean },
  time: number,
  onFault: (fault: ChunkFault) => void,
): Promise<void> {
  const [stored] = await loadChunks(tx, chunk.series, [chunk], chunk.text, { onFault });
  if (stored === undefined) return;
  const left = clipRun(stored.run, time, Number.MAX_SAFE_INTEGER);
  await deleteChunks(tx, [chunk.id]);
  if (left.times.length > 0) {
    await insertChunks(tx, [{ ...newChunk({ series: chunk.series, run: left }), id: chunk.id }]);
  }
}
