/** Removed series are hidden at once, then deleted chunk by chunk; so are points older than a time in a part. */

import type { Row, Transaction } from "@libsql/client/sqlite3";
import { StoreError } from "../../lib/errors.js";
import type { Lock } from "../../lib/scheduling.js";
import type { RemovedPoints } from "../series.js";
import type { SeriesCatalog } from "./catalog.js";
import {
  type ChunkFault,
  deleteChunks,
  insertChunks,
  loadChunks,
  newChunk,
  type StoredChunk,
} from "./chunk-rows.js";
import { clipRun, noTimeAbove, noTimeBelow } from "./columns.js";
import type { Flusher } from "./flusher.js";
import type { PointIntake } from "./intake.js";
import type { Lookup } from "./lookup.js";
import type { RemovedScope } from "./names.js";
import type { Parts } from "./parts.js";
import type { SeriesRegistry } from "./registry.js";
import type { Repair } from "./repair.js";
import { inTransaction } from "./sqlite.js";
import type { StoredPart } from "./stored-part.js";

interface Removal {
  /** Deletes some chunks of a removed series; false when no removed series is left. */
  sweepStep(): Promise<boolean>;
  /** Deletes or trims some chunks older than `time` in the part that spans it, and reports them; false when done. */
  trimStep(time: number, onRemoved: (removed: RemovedPoints) => void): Promise<boolean>;
}

type OnRemoved = (removed: RemovedPoints) => void;
type FourNumbers = [number, number, number, number];

const chunksPerStepMax = 64;
const scannedPerStepMax = 512;

/**
 * The quick half of a removal: from now on nothing in the scopes is answered. Points that are still in memory are
 * flushed first: the checkpoint then covers them, and no replay of the journal brings them back.
 */
export function hideRemoved(
  scopes: readonly RemovedScope[],
  deps: {
    registry: Pick<SeriesRegistry, "matching" | "remove">;
    catalog: Pick<SeriesCatalog, "markRemoved">;
    intake: Pick<PointIntake, "held">;
    lookup: Pick<Lookup, "isInMemory">;
    flusher: Pick<Flusher, "flush">;
    lock: Lock;
  },
): Promise<void> {
  const { registry, catalog, intake, lookup, flusher, lock } = deps;
  return intake.held(async () => {
    if (registry.matching(scopes).some(lookup.isInMemory)) await flusher.flush();
    await lock(async () => {
      await catalog.markRemoved(scopes);
      registry.remove(registry.matching(scopes));
    });
  });
}

/** The slow half: frees the space of what was removed. */
export function createRemoval({
  catalog,
  parts,
  mender,
}: {
  catalog: SeriesCatalog;
  parts: Parts;
  mender: Pick<Repair, "note">;
}): Removal {
  let trim: { time: number; part: StoredPart; after: number } | undefined;

  async function sweepStep(): Promise<boolean> {
    const series = await catalog.nextRemoved();
    if (series === undefined) return false;
    for (const part of parts.holding(series, noTimeBelow, noTimeAbove)) {
      // Its quarantined chunks have the negated id.
      const { rowsAffected } = await parts.use(part, (client) =>
        client.execute({
          sql: "delete from chunk where id in (select id from chunk where series in (?1, -?1) limit ?2)",
          args: [BigInt(series), BigInt(chunksPerStepMax)],
        }),
      );
      if (rowsAffected > 0) return true;
    }
    await catalog.forget(series);
    return true;
  }

  async function trimStep(time: number, onRemoved: OnRemoved): Promise<boolean> {
    if (trim?.time !== time) {
      const part = parts.list().find(({ start, stop }) => start < time && time < stop);
      if (part === undefined) return false;
      trim = { time, part, after: 0 };
    }
    const last = await trimSome(trim.part, trim.after, time, onRemoved);
    if (last === undefined) trim = undefined;
    else trim.after = last;
    return last !== undefined;
  }

  /** Goes over some chunks with ids above `after`. Returns the last id seen, undefined at the end. */
  function trimSome(
    part: StoredPart,
    after: number,
    time: number,
    onRemoved: OnRemoved,
  ): Promise<number | undefined> {
    const onFault = (fault: ChunkFault): void => mender.note(part, fault);
    return parts.use(part, async (client) => {
      const { rows } = await client.execute({
        sql: `select id, series, start, stop, n from (select * from chunk where id > ? order by id limit ?)`,
        args: [BigInt(after), BigInt(scannedPerStepMax)],
      });
      const old = rows.filter((row) => Number(row[2]) < time).slice(0, chunksPerStepMax);
      if (old.length > 0)
        for (const removed of await inTransaction(client, (tx) => trimAll(tx, old, time, onFault)))
          onRemoved(removed);
      const cut = old.length === chunksPerStepMax ? old.at(-1) : rows.at(-1);
      // Rows of a damaged page may be out of order, and lead in a circle.
      if (cut !== undefined && Number(cut[0]) <= after)
        throw new StoreError("CORRUPT", `chunk ${Number(cut[0])} follows chunk ${after}`);
      return cut === undefined ? undefined : Number(cut[0]);
    });
  }

  async function trimAll(
    tx: Transaction,
    rows: readonly Row[],
    time: number,
    onFault: (fault: ChunkFault) => void,
  ): Promise<RemovedPoints[]> {
    const removed: RemovedPoints[] = [];
    for (const row of rows) {
      const series = Number(row[1]);
      const [id, start, stop, points] = [row[0], row[2], row[3], row[4]].map(Number) as FourNumbers;
      // A quarantined chunk cannot be cut; it is deleted once all of it is old.
      if (series < 0 && stop < time) await deleteChunks(tx, [id]);
      if (series < 0) continue;
      const chunk = { id, series, start, stop, points, text: await catalog.isText(series) };
      const gone = await trimChunk(tx, chunk, time, onFault);
      if (gone > 0) removed.push({ points: gone, oldest: start });
    }
    return removed;
  }

  return { sweepStep, trimStep };
}

/**
 * Removes points older than `time` from one chunk: what is left keeps the chunk's id. A damaged chunk stays and is
 * reported. Returns how many it has removed.
 */
async function trimChunk(
  tx: Transaction,
  chunk: StoredChunk & { readonly series: number; readonly text: boolean },
  time: number,
  onFault: (fault: ChunkFault) => void,
): Promise<number> {
  const [stored] = await loadChunks(tx, chunk.series, [chunk], chunk.text, { onFault });
  if (stored === undefined) return 0;
  const left = clipRun(stored.run, time, Number.MAX_SAFE_INTEGER);
  await deleteChunks(tx, [chunk.id]);
  if (left.times.length > 0) {
    await insertChunks(tx, [{ ...newChunk({ series: chunk.series, run: left }), id: chunk.id }]);
  }
  return stored.run.times.length - left.times.length;
}
