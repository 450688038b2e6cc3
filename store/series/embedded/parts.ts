/** The files of points as their only writer sees them: which there are, what span of time each stands for. */

import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { headFault } from "../../files/database-file.js";
import { asError } from "../../lib/errors.js";
import { earliestTime, latestTime } from "../../lib/time-range.js";
import type { Catalog } from "./catalog.js";
import { PART_FORMAT, type Part } from "./catalog-schema.js";
import { monthOf } from "./months.js";
import { storedTimes } from "./part-file.js";
import { createSeriesSet, decodeSeriesSet } from "./series-set.js";
import {
  both,
  DamagedPart,
  partAt,
  type Standing,
  type StoredPart,
  standingOf,
  unknownPart,
} from "./stored-part.js";
import { createWriterFiles, type WriterFiles } from "./writer-files.js";

/** Spans of time that do not overlap, ascending. */
export interface Parts {
  list(): readonly StoredPart[];
  /** The part that stands for a time already; null where one must be made or cut off, or looked at. */
  standing(time: number): Standing | null;
  /** The same, made or cut off where need be; readers hear of it before its first point leaves the memtable. */
  ensure(time: number): Promise<Standing>;
  /** Points of [low, high] (both included) are on their way into the part. */
  expect(part: StoredPart, low: number, high: number): void;
  /** On record before the first chunk of a series is in the part. */
  hold(part: StoredPart, series: readonly number[]): Promise<void>;
  /** The look through a part has ended: nothing else is in it. */
  looked(part: StoredPart): Promise<void>;
  /** The parts of [start, stop) that may hold the series, ascending. */
  holding(series: number, start: number, stop: number): StoredPart[];
  /** Works on a part's file. @throws DamagedPart when that is damaged or has gone */
  use<T>(part: StoredPart, work: (client: Client) => Promise<T>): Promise<T>;
  /** For a file that takes the place of one of this name: neither a part's nor one that lies in the folder. */
  nextName(old: string): string;
  /** The connection that is open already, to a file that may no longer be there; undefined where no connection is. */
  connected(part: StoredPart): Client | undefined;
  /** The part lies in another file from now on; the old one is closed. */
  replace(part: StoredPart, path: string): Promise<void>;
  /** Why the file of a part cannot be what was written, as far as a look at its folder tells; null when all is well. */
  missing(part: StoredPart): string | null;
  /** Takes every part that ends at or before `time` off the list. */
  retire(time: number): Part[];
  unlink(part: Part): Promise<void>;
  /** Closes the files, after it has put on record what they are now. */
  close(): Promise<void>;
}

/** @param partBytesMin a span is cut only where its file has so much: sparse points stay together */
export async function openParts(deps: {
  dir: string;
  catalog: Catalog;
  partBytesMin: number;
  onChange: (parts: readonly Part[]) => void;
}): Promise<Parts> {
  const { dir, catalog, partBytesMin, onChange } = deps;
  const files = createWriterFiles(dir);
  let parts = await loadParts(dir, catalog, files);
  /** Files that are retired and not unlinked yet: no new part may take their names. */
  const leaving = new Set<string>();
  /** Where the parts that were retired last ended. */
  let retiredTo = Number.NEGATIVE_INFINITY;
  onChange(parts);

  const isTaken = (path: string): boolean => leaving.has(path) || parts.some((part) => part.path === path);

  /** A new part of [start, stop) for a time in it. */
  async function make(time: number, start: number, stop: number): Promise<StoredPart> {
    const path = await files.freeName(time, isTaken);
    const part = {
      ...unknownPart({ start, stop, path }),
      held: createSeriesSet(),
      stored: null,
      flushed: null,
    };
    // Its tables first: a process killed in between must not leave a listed file that readers cannot use.
    await files.open(path, true);
    return part;
  }

  function standing(time: number): Standing | null {
    const part = parts[partAt(parts, time)];
    return part === undefined ? null : standingOf(part, time, partBytesMin);
  }

  async function ensure(time: number): Promise<Standing> {
    const at = partAt(parts, time);
    const part = parts[at];
    if (part === undefined) await fill(time, -1 - at);
    else if (part.bytes >= partBytesMin) {
      if (part.stored === undefined) part.stored = await use(part, storedTimes);
      const times = both(part.stored, part.coming);
      if (standing(time) === null && times !== null) {
        const first = monthOf(times.low).start;
        await cut(part, time, time < first ? first : monthOf(time).start);
      }
    }
    const found = standing(time);
    if (found === null) throw new RangeError(`no part stands for ${time}`);
    return found;
  }

  /** A part for a stretch that none stands for; `next` is the index of the one after it. */
  async function fill(time: number, next: number): Promise<void> {
    const least = time >= retiredTo ? Math.max(retiredTo, earliestTime) : earliestTime;
    const part = await make(time, parts[next - 1]?.stop ?? least, parts[next]?.start ?? latestTime + 1);
    await catalog.addPart(part);
    parts = parts.toSpliced(next, 0, part);
    onChange(parts);
  }

  /**
   * Cuts a part that holds nothing on the side of `at` where the time lies: no point moves. What the part then stands
   * for, and the new one, are on record in one step.
   */
  async function cut(part: StoredPart, time: number, at: number): Promise<void> {
    const isBefore = time < at;
    const made = await make(time, isBefore ? part.start : at, isBefore ? at : part.stop);
    const left = isBefore ? { start: at, stop: part.stop } : { start: part.start, stop: at };
    await catalog.cutPart(part, left, made);
    Object.assign(part, left);
    parts = [...parts, made].sort((a, b) => a.start - b.start);
    onChange(parts);
  }

  async function record(part: StoredPart): Promise<void> {
    if (part.held === null) return;
    const version = files.version(part.path);
    await catalog.setHeld(part, part.held.encode(), version);
    part.recorded = version;
  }

  async function hold(part: StoredPart, series: readonly number[]): Promise<void> {
    part.looking?.add(series);
    if (part.held?.add(series) === true) part.recorded = null;
    // Also what a full disk has kept off the record before.
    if (part.recorded === null) await record(part);
  }

  async function use<T>(part: StoredPart, work: (client: Client) => Promise<T>): Promise<T> {
    const gone = files.missing(part.path);
    if (gone !== null) throw new DamagedPart(part, gone);
    try {
      return await work(await files.open(part.path));
    } catch (error) {
      if (error instanceof DamagedPart || !isDamage(error)) throw error;
      throw new DamagedPart(part, asError(error).message);
    }
  }

  async function replace(part: StoredPart, path: string): Promise<void> {
    await files.close(part.path);
    await catalog.replacePart({ ...part, path });
    part.path = path;
    part.stored = undefined;
    // What is in this one was in the other.
    await record(part);
    onChange(parts);
  }

  function retire(time: number): Part[] {
    const retired = parts.filter((part) => part.stop <= time);
    for (const { path, stop } of retired) {
      leaving.add(path);
      retiredTo = Math.max(retiredTo, stop);
    }
    parts = parts.filter((part) => part.stop > time);
    onChange(parts);
    return retired.map(({ start, stop, path }) => ({ start, stop, path }));
  }

  return {
    list: () => parts,
    standing,
    ensure,
    expect: (part, low, high) => {
      part.coming = both(part.coming, { low, high });
    },
    hold,
    looked: async (part) => {
      part.held = part.looking;
      part.looking = null;
      await record(part);
    },
    holding: (series, start, stop) =>
      parts.filter(
        (part) => part.stop > start && part.start < stop && (part.held === null || part.held.has(series)),
      ),
    use,
    nextName: (old) => files.nextName(old, isTaken),
    connected: (part) => files.opened(part.path),
    replace,
    missing: ({ path }) => files.missing(path),
    retire,
    unlink: async (part) => {
      await unlink(part, catalog, files);
      leaving.delete(part.path);
    },
    close: async () => {
      await files.closeAll();
      for (const part of parts) {
        if (part.held !== null && part.recorded !== files.version(part.path)) await record(part);
      }
    },
  };
}

async function unlink(part: Part, catalog: Pick<Catalog, "removePart">, files: WriterFiles): Promise<void> {
  await files.delete(part.path);
  await catalog.removePart(part);
}

/** The parts that the catalog lists; what a retention has dropped and a kill has left is unlinked. */
async function loadParts(dir: string, catalog: Catalog, files: WriterFiles): Promise<StoredPart[]> {
  const parts: StoredPart[] = [];
  for (const { dropped, format, start, stop, path, loose, held, file, flushed } of await catalog.parts()) {
    if (dropped) {
      await unlink({ start, stop, path }, catalog, files);
      continue;
    }
    const bytes = files.bytes(path);
    // A file that is not as it was left, after a kill or as a backup, may hold other series.
    const isSame = held !== null && file === files.version(path);
    const part: StoredPart = {
      ...unknownPart({ start, stop, path }),
      loose,
      bytes: bytes ?? 0,
      held: isSame ? decodeSeriesSet(held) : null,
      recorded: file ?? "",
      flushed: flushed ?? undefined,
    };
    parts.push(part);
    // A killed process leaves a log to recover: done here, so that no reader meets the lock that takes.
    if (bytes === null || (format >= PART_FORMAT && !files.needsRecovery(path))) continue;
    // What is wrong with it is told, and mended, once the store is open.
    if ((await headFault(join(dir, path))) !== null) continue;
    try {
      await files.open(path);
      if (format < PART_FORMAT) await catalog.replacePart(part);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  return parts;
}
