/** Points on their way into the files, gathered by part so that each file is written in few transactions. */

import type { Transaction } from "@libsql/client/sqlite3";
import { systemClock } from "../../lib/clock.js";
import { createYielder } from "../../lib/scheduling.js";
import {
  type ChunkFault,
  type ChunkPiece,
  deleteChunks,
  insertChunks,
  loadChunks,
  type NewChunk,
  newChunk,
  toStoredChunk,
} from "./chunk-rows.js";
import { chunkPointsMax, cutIntoChunks } from "./chunks.js";
import { mergeRuns, type Run } from "./columns.js";
import type { Parts } from "./parts.js";
import type { Repair } from "./repair.js";
import { inTransaction } from "./sqlite.js";
import { DamagedPart, type StoredPart } from "./stored-part.js";

interface PartBuffers {
  add(part: StoredPart, series: number, points: Run): void;
  /** Writes the buffers that are full; all of them once their sum is large. */
  writeFull(): Promise<void>;
  writeAll(): Promise<void>;
  /** The parts that points were added to. */
  parts(): StoredPart[];
}

interface PartBuffer {
  readonly part: StoredPart;
  pieces: ChunkPiece[];
  bytes: number;
}

const transactionBytesMax = 4 << 20;
const bufferedBytesMax = 32 << 20;
const insertBytesMax = 256 << 10;
const insertRowsMax = 128;
const pieceBytes = 512;

/** @param topUp whether a series' chunk that comes alone is joined to the series' newest one in the file */
export function createPartBuffers(deps: {
  parts: Pick<Parts, "hold" | "use">;
  mender: Pick<Repair, "move" | "note">;
  topUp: boolean;
}): PartBuffers {
  const { parts, mender, topUp } = deps;
  const yieldIfDue = createYielder();
  const buffers = new Map<StoredPart, PartBuffer>();

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
      // What can be read of the part moves to a new file, which then takes these pieces.
      await mender.move(error.part, error.fault);
      await insertInto(target);
    }
    part.writtenAt = systemClock.monotonic();
    part.bytes += target.bytes;
    target.pieces = [];
    target.bytes = 0;
    await yieldIfDue();
  }

  function insertInto({ part, pieces }: PartBuffer): Promise<void> {
    const onFault = (fault: ChunkFault): void => mender.note(part, fault);
    return parts.use(part, (client) => inTransaction(client, (tx) => insertPieces(tx, pieces, onFault)));
  }

  async function insertPieces(
    tx: Transaction,
    pieces: readonly ChunkPiece[],
    onFault: (fault: ChunkFault) => void,
  ): Promise<void> {
    let rows: NewChunk[] = [];
    let bytes = 0;
    for (const [i, piece] of pieces.entries()) {
      const alone = pieces[i - 1]?.series !== piece.series && pieces[i + 1]?.series !== piece.series;
      const row = newChunk(topUp && alone ? await filledUp(tx, piece, onFault) : piece);
      rows.push(row);
      bytes += row.data.length;
      if (bytes < insertBytesMax && rows.length < insertRowsMax) continue;
      await insertChunks(tx, rows);
      rows = [];
      bytes = 0;
      await yieldIfDue();
    }
    await insertChunks(tx, rows);
  }

  async function writeAll(): Promise<void> {
    for (const target of buffers.values()) if (target.bytes > 0) await writeOut(target);
  }

  return {
    add: (part, series, points) => {
      const target = buffers.get(part) ?? { part, pieces: [], bytes: 0 };
      buffers.set(part, target);
      for (const run of cutIntoChunks(points)) {
        target.pieces.push({ series, run });
        target.bytes += countBytes(run);
      }
    },
    writeFull: async () => {
      let buffered = 0;
      for (const target of buffers.values()) {
        if (target.bytes > transactionBytesMax) await writeOut(target);
        buffered += target.bytes;
      }
      if (buffered > bufferedBytesMax) await writeAll();
    },
    writeAll,
    parts: () => [...buffers.keys()],
  };
}

/**
 * The piece together with its series' newest chunk, which it replaces, while both fit one chunk. Only the chunk
 * of the highest id may move up so: any other would begin to win over chunks written after it.
 */
async function filledUp(
  tx: Transaction,
  piece: ChunkPiece,
  onFault: (fault: ChunkFault) => void,
): Promise<ChunkPiece> {
  if (piece.run.times.length > chunkPointsMax / 2) return piece;
  const { rows } = await tx.execute({
    sql: `select id, start, stop, n from chunk where id = (select max(id) from chunk where series = ?1)
      and n <= ?2 and length(data) <= ?3`,
    args: [BigInt(piece.series), BigInt(chunkPointsMax / 2), BigInt(insertBytesMax)],
  });
  const [row] = rows;
  if (row === undefined) return piece;
  const [last] = await loadChunks(tx, piece.series, [toStoredChunk(row)], Array.isArray(piece.run.values), {
    onFault,
  });
  if (last === undefined) return piece;
  await deleteChunks(tx, [last.id]);
  return { series: piece.series, run: mergeRuns(last.run, piece.run) };
}

/** The memory that a piece takes: with three points a series that is mostly the piece itself. */
function countBytes(run: Run): number {
  const { values } = run;
  const text = Array.isArray(values) ? values.reduce((total, value) => total + value.length, 0) : 0;
  return pieceBytes + run.times.length * 16 + text;
}
