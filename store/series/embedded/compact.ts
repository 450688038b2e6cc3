import type { Client } from "@libsql/client/sqlite3";
import type { Clock } from "../../lib/clock.js";
import type { SeriesCatalog } from "./catalog.js";
import {
  type ChunkFault,
  deleteChunks,
  insertChunks,
  listChunks,
  listTexts,
  loadChunks,
  newChunk,
} from "./chunk-rows.js";
import { chunksToCompact, cutIntoChunks } from "./chunks.js";
import { mergeAll, noTimeAbove, noTimeBelow } from "./columns.js";
import type { Parts } from "./parts.js";
import type { Repair } from "./repair.js";
import { inTransaction } from "./sqlite.js";
import type { StoredPart } from "./stored-part.js";

const looseFlushesMax = 32;
const idleMs = 10 * 60_000;
const microsecondsPerMs = 1000;
const allTime = { start: noTimeBelow, stop: noTimeAbove };

interface Compaction {
  /** Looks at one series of one part and rewrites at most 8 chunks' worth of points; false when all is in order. */
  step(): Promise<boolean>;
}

/**
 * Walks the series of parts that flushes have left in small chunks: any part after 32 flushes, one whose span has
 * ended as soon as nothing has been written to it for ten minutes.
 */
export function createCompaction(deps: {
  catalog: SeriesCatalog;
  parts: Parts;
  mender: Pick<Repair, "note">;
  clock: Clock;
}): Compaction {
  const { catalog, parts, mender, clock } = deps;
  let walk: { part: StoredPart; looseAtStart: number; settled: boolean; series: number } | undefined;

  const isClosed = (part: StoredPart): boolean =>
    part.stop <= clock.now() * microsecondsPerMs && clock.monotonic() - part.writtenAt >= idleMs;

  function choose(): StoredPart | undefined {
    return parts.list().find((part) => part.loose >= looseFlushesMax || (part.loose > 0 && isClosed(part)));
  }

  async function step(): Promise<boolean> {
    if (walk === undefined || !parts.list().includes(walk.part)) {
      const part = choose();
      if (part === undefined) return false;
      walk = { part, looseAtStart: part.loose, settled: isClosed(part), series: 0 };
    }
    const { part, settled, looseAtStart } = walk;
    const after = walk.series;
    const series = await parts.use(part, (client) => nextSeries(client, after));
    if (series === undefined) {
      await catalog.tighten(part.start, looseAtStart);
      part.loose -= looseAtStart;
      walk = undefined;
      return true;
    }
    const text = await catalog.isText(series);
    const onFault = (fault: ChunkFault): void => mender.note(part, fault);
    const more = await parts.use(part, (client) => compactSeries(client, { series, text, settled }, onFault));
    if (!more) walk.series = series;
    return true;
  }

  return { step };
}

async function nextSeries(client: Client, after: number): Promise<number | undefined> {
  const { rows } = await client.execute({
    sql: "select series from chunk where series > ? order by series limit 1",
    args: [BigInt(after)],
  });
  return rows[0] === undefined ? undefined : Number(rows[0][0]);
}

/**
 * One rewrite of a series; false when nothing is worth it, or a chunk is damaged and must be quarantined first.
 * Readers see the chunks from before or from after, never a mix.
 */
export async function compactSeries(
  client: Client,
  { series, text, settled }: { series: number; text: boolean; settled: boolean },
  onFault: (fault: ChunkFault) => void,
): Promise<boolean> {
  const list = text ? listTexts : listChunks;
  const chunks = (await list(client, series, allTime)).sort((a, b) => a.id - b.id);
  const chosen = chunksToCompact(chunks, settled);
  if (chosen.length === 0) return false;
  const loaded = await loadChunks(client, series, chosen, text, { onFault });
  if (loaded.length < chosen.length) return false;
  const merged = mergeAll(
    loaded.map(({ run }) => run),
    text,
  );
  const pieces = cutIntoChunks(merged);
  // long texts may already fill their chunks
  if (pieces.length >= chosen.length) return false;
  await inTransaction(client, async (tx) => {
    const ids = chosen.map((chunk) => chunk.id);
    await deleteChunks(tx, ids);
    const rows = pieces.map((run, i) => ({ ...newChunk({ series, run }), id: ids[i] ?? 0 }));
    await insertChunks(tx, rows);
  });
  return true;
}
