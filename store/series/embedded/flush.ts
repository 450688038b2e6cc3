/** One memtable on its way into the files. */

import { createYielder } from "../../lib/scheduling.js";
import type { SeriesCatalog } from "./catalog.js";
import type { Checkpoints } from "./checkpoints.js";
import { firstTime, lastTime, lowerBound, type Run, sliceRun } from "./columns.js";
import type { Memtable } from "./memtable.js";
import { parseSeriesName } from "./names.js";
import { createPartBuffers } from "./part-buffers.js";
import type { Parts } from "./parts.js";
import type { SeriesEntry, SeriesRegistry } from "./registry.js";
import type { Repair } from "./repair.js";
import { DamagedPart, joinTimes, type StoredPart } from "./stored-part.js";

export interface Flush {
  /** Writes what is not written yet. After a failure call it again: what was committed is not written twice. */
  run(): Promise<void>;
}

const namedAtOnceMax = 500;
/** A flush of up to so many series tops up their last chunks; with more, compaction does it, which costs less. */
const topUpSeriesMax = 2000;

/**
 * Series are written in the order of their ids. A part may take several transactions, all before the checkpoints move:
 * after a kill the journal brings the same points again, and points of equal times are one.
 *
 * @param floor older points are being removed and are left out
 */
export function createFlush(deps: {
  memtable: Memtable;
  registry: SeriesRegistry;
  catalog: SeriesCatalog;
  parts: Parts;
  mender: Repair;
  checkpoints: Checkpoints;
  floor: () => number;
}): Flush {
  const { memtable, registry, catalog, parts, mender, checkpoints, floor } = deps;
  const yieldIfDue = createYielder();
  const entries = memtable.slots().map((slot) => registry.bySlot(slot));
  const buffers = createPartBuffers({ parts, mender, topUp: entries.length <= topUpSeriesMax });
  let queue: SeriesEntry[] | undefined;
  let next = 0;

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
    for (const [part, run] of taken) buffers.add(part, entry.id, run);
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

  async function finish(): Promise<void> {
    const touched = buffers.parts();
    for (const part of touched)
      if (part.flushed !== undefined) part.flushed = joinTimes(part.flushed, part.coming);
    await catalog.finishFlush(
      touched.map(({ start, flushed = null }) => ({ start, flushed })),
      checkpoints,
    );
    for (const part of touched) part.loose++;
  }

  return {
    run: async () => {
      if (queue === undefined) {
        await nameSeries(entries, catalog);
        queue = entries.sort((a, b) => a.id - b.id);
      }
      while (next < queue.length) {
        const entry = queue[next];
        if (entry !== undefined && !entry.removed) await take(entry);
        next++;
        await buffers.writeFull();
        await yieldIfDue();
      }
      await buffers.writeAll();
      await finish();
    },
  };
}

/** Gives an id to each series that has none. */
async function nameSeries(
  entries: readonly SeriesEntry[],
  catalog: Pick<SeriesCatalog, "ids">,
): Promise<void> {
  const yieldIfDue = createYielder();
  const unnamed = entries.filter((entry) => entry.id === 0);
  for (let i = 0; i < unnamed.length; i += namedAtOnceMax) {
    const some = unnamed.slice(i, i + namedAtOnceMax);
    const ids = await catalog.ids(some.map((entry) => parseSeriesName(entry.name)));
    for (const [j, entry] of some.entries()) entry.id = ids[j] ?? 0;
    await yieldIfDue();
  }
}
