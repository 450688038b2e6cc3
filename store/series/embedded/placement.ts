/** Which part takes the points of a time: one that stands for it, or one that is made or cut off for it. */

import type { SeriesCatalog } from "./catalog.js";
import { toMonth } from "./months.js";
import { storedTimes } from "./part-file.js";
import type { PartList } from "./part-list.js";
import { createSeriesSet } from "./series-set.js";
import { joinTimes, type StoredPart, unknownPart } from "./stored-part.js";
import { useFile, type WriterFiles } from "./writer-files.js";

/** A part that takes a time, and all later times before `until`. */
export interface OpenPart {
  readonly part: StoredPart;
  readonly until: number;
}

interface Placement {
  /** The part that stands for a time already; null where one must first be made, cut off or looked at. */
  standing(time: number): OpenPart | null;
  /** The same, made or cut off where necessary; readers hear of it before its first point leaves the memtable. */
  ensure(time: number): Promise<OpenPart>;
}

/** @param partBytesMin a span is cut only where its file has so much: sparse points stay together */
export function createPlacement(deps: {
  list: PartList;
  catalog: Pick<SeriesCatalog, "addPart" | "cutPart">;
  files: WriterFiles;
  partBytesMin: number;
}): Placement {
  const { list, catalog, files, partBytesMin } = deps;

  /** A new part of [start, stop) for a time in it. */
  async function make(time: number, start: number, stop: number): Promise<StoredPart> {
    const path = await files.freeName(time, list.isTaken);
    const part = {
      ...unknownPart({ start, stop, path }),
      held: createSeriesSet(),
      stored: null,
      flushed: null,
    };
    // Its tables first: a kill must not leave a listed file that readers cannot use.
    await files.open(path, true);
    return part;
  }

  function standing(time: number): OpenPart | null {
    const part = list.at(time);
    return part === undefined ? null : findOpenPart(part, time, partBytesMin);
  }

  async function ensure(time: number): Promise<OpenPart> {
    const part = list.at(time);
    if (part === undefined) await fill(time);
    else if (part.bytes >= partBytesMin) {
      if (part.stored === undefined) part.stored = await useFile(files, part, storedTimes);
      const times = joinTimes(part.stored, part.coming);
      if (standing(time) === null && times !== null) {
        const first = toMonth(times.low).start;
        await cut(part, time, time < first ? first : toMonth(time).start);
      }
    }
    const found = standing(time);
    if (found === null) throw new RangeError(`no part stands for ${time}`);
    return found;
  }

  /** Makes a part for the stretch around a time for which none stands. */
  async function fill(time: number): Promise<void> {
    const { start, stop } = list.vacancy(time);
    const part = await make(time, start, stop);
    await catalog.addPart(part);
    list.add(part);
  }

  /**
   * Cuts a part at `at`. It holds nothing on the side where the time lies, so no point moves. Its new span and the new
   * part are put on record in one step.
   */
  async function cut(part: StoredPart, time: number, at: number): Promise<void> {
    const isBefore = time < at;
    const made = await make(time, isBefore ? part.start : at, isBefore ? at : part.stop);
    const left = isBefore ? { start: at, stop: part.stop } : { start: part.start, stop: at };
    await catalog.cutPart(part, left, made);
    Object.assign(part, left);
    list.add(made);
  }

  return { standing, ensure };
}

/**
 * How far the part takes points from `time` on, a time in its span: to its end while it is small, then only within
 * the months that it holds points of. Null where it must first be cut or looked at.
 */
function findOpenPart(part: StoredPart, time: number, partBytesMin: number): OpenPart | null {
  if (part.bytes < partBytesMin) return { part, until: part.stop };
  if (part.stored === undefined) return null;
  const times = joinTimes(part.stored, part.coming);
  if (times === null) return { part, until: Math.min(part.stop, toMonth(time).stop) };
  const after = toMonth(times.high).stop;
  if (time >= after || time < toMonth(times.low).start) return null;
  return { part, until: Math.min(part.stop, after) };
}
