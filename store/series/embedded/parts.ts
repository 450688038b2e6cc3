import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { headFault } from "../../files/database-file.js";
import { asError, StoreError } from "../../lib/errors.js";
import { earliestTime, latestTime } from "../../lib/time-range.js";
import type { Catalog } from "./catalog.js";
import { PART_FORMAT, type Part } from "./catalog-schema.js";
import { isBlank, openPartFile, storedTimes } from "./files.js";
import { createHeld, decodeHeld, type Held } from "./held.js";
import { monthOf } from "./months.js";
import { createOpenFiles, writerFilesMax } from "./open-files.js";

export interface StoredPart extends Part {
  start: number;
  stop: number;
  path: string;
  /** Flushes into it since it was last compacted. */
  loose: number;
  /** When this process last wrote points into it (monotonic milliseconds); -Infinity when it has not. */
  writtenAt: number;
  /** About the bytes of its file. */
  bytes: number;
  /** The series that it may hold; null: not known yet, it may hold any. */
  held: Held | null;
  /** What a look through the file has found so far, and what was written meanwhile; null: none is under way. */
  looking: Held | null;
  /** First and last time in its file when that was looked at; null: none, undefined: it was not. */
  stored: Times | null | undefined;
  /** First and last time that this process has written, or is about to; null: none. */
  coming: Times | null;
  /** First and last time that a flush has brought to its end; null: none, undefined: not known. */
  flushed: Times | null | undefined;
  /** Its file as the catalog's record of `held` knows it; null: something is not on record yet. */
  recorded: string | null;
}

/** A part that takes a time, and from there all before `until`. */
interface Standing {
  readonly part: StoredPart;
  readonly until: number;
}

/** Both are held. */
export interface Times {
  readonly low: number;
  readonly high: number;
}

/** The files of points as their only writer sees them: spans of time that do not overlap, ascending. */
export interface Parts {
  list(): readonly StoredPart[];
  /** The part that stands for a time already; null where one must be made or cut off, or looked at. */
  standing(time: number): Standing | null;
  /** The same, made or cut off where need be; readers hear of it before its first point leaves the memtable. */
  ensure(time: number): Promise<Standing>;
  /** Points of [low, high] (both held) are on their way into the part. */
  expect(part: StoredPart, low: number, high: number): void;
  /** What is lost with the part: as far as it is known, the months of what was flushed into it or is about to be. */
  lost(part: StoredPart): Part;
  /** On record before the first chunk of a series is in the part. */
  hold(part: StoredPart, series: readonly number[]): Promise<void>;
  /** The look through a part has come to its end: nothing else is in it. */
  looked(part: StoredPart): Promise<void>;
  /** The parts of [start, stop) that may hold the series, ascending. */
  holding(series: number, start: number, stop: number): StoredPart[];
  /** Works on a part's file. @throws DamagedPart when that is damaged or has gone */
  use<T>(part: StoredPart, work: (client: Client) => Promise<T>): Promise<T>;
  /** For a file that takes the place of one of this name: neither a part's nor one that lies in the folder. */
  nextName(old: string): string;
  /** The connection that is open already, to a file that may no longer be there; undefined when none is. */
  connected(part: StoredPart): Client | undefined;
  /** The part lies in another file from now on; the old one is let go of. */
  replace(part: StoredPart, path: string): Promise<void>;
  /** Why the file of a part cannot be what was written, as far as a look at its folder tells; null when all is well. */
  missing(part: StoredPart): string | null;
  /** Takes every part that ends at or before `time` off the list. */
  retire(time: number): Part[];
  unlink(part: Part): Promise<void>;
  /** Closes the files, after it has put on record what they are now. */
  close(): Promise<void>;
}

/** The file of a part is damaged: what can be read of it must move before anything is written. */
export class DamagedPart extends StoreError {
  constructor(
    readonly part: StoredPart,
    readonly fault: string,
  ) {
    super("CORRUPT", `cannot use ${part.path}: ${fault}`);
  }
}

interface Connection {
  readonly client: Client;
  /** Which file it was when it was opened. */
  readonly file: string;
}

/** @param partBytesMin a span is cut only where its file has so much: what is sparse stays together */
export async function openParts(deps: {
  dir: string;
  catalog: Catalog;
  partBytesMin: number;
  onChange: (parts: readonly Part[]) => void;
}): Promise<Parts> {
  const { dir, catalog, partBytesMin, onChange } = deps;
  const connections = createOpenFiles<Connection>(writerFilesMax);
  /** Files that are retired and not unlinked yet: no new part may take their names. */
  const leaving = new Set<string>();
  /** Where the parts that were retired last ended. */
  let retiredTo = Number.NEGATIVE_INFINITY;
  let parts: StoredPart[] = [];

  async function client(part: Part, isNew = false): Promise<Client> {
    const known = connections.get(part.path);
    if (known !== undefined) return known.client;
    const path = join(dir, part.path);
    const client = await openPartFile(path, isNew);
    await connections.add(part.path, { client, file: identity(path) ?? "" });
    return client;
  }

  async function unlink(part: Part): Promise<void> {
    await connections.close(part.path);
    for (const suffix of ["", "-wal", "-shm"]) await rm(join(dir, part.path + suffix), { force: true });
    await catalog.removePart(part);
    leaving.delete(part.path);
  }

  /** Index of the part that holds a time; of the one behind it, as -1 - index, where none does. */
  function find(time: number): number {
    let low = 0;
    let high = parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((parts[middle] as StoredPart).stop <= time) low = middle + 1;
      else high = middle;
    }
    const found = parts[low];
    return found !== undefined && found.start <= time ? low : -1 - low;
  }

  const isOurs = (path: string): boolean => leaving.has(path) || parts.some((part) => part.path === path);
  const isThere = (path: string): boolean =>
    ["", "-wal"].some((suffix) => existsSync(join(dir, path + suffix)));

  /**
   * A name for a file of the month of `time`: parts that share a month have different ones. A file that a killed cut
   * has left empty is taken; whatever else lies there stays as it is.
   */
  async function freeName(time: number): Promise<string> {
    const { name } = monthOf(time);
    for (let n = 1; ; n++) {
      const path = n === 1 ? `points-${name}.db` : `points-${name}.${n}.db`;
      if (!isOurs(path) && (!isThere(path) || (await isBlank(join(dir, path))))) return path;
    }
  }

  /** Of the next generation: where both are found without a catalog, it is the one that counts. */
  function nextName(old: string): string {
    const [, name, generation = "1"] = /^(points-\d+-\d+)(?:\.(\d+))?\.db$/.exec(old) ?? [];
    for (let n = Number(generation) + 1; ; n++) {
      const path = `${name}.${n}.db`;
      if (!isOurs(path) && !isThere(path)) return path;
    }
  }

  /** A new part of [start, stop) for a time in it. */
  async function make(time: number, start: number, stop: number): Promise<StoredPart> {
    const path = await freeName(time);
    const part: StoredPart = {
      ...unused,
      start,
      stop,
      path,
      held: createHeld(),
      stored: null,
      flushed: null,
    };
    // Its tables first: a process killed in between must not leave a listed file that readers cannot use.
    await client(part, true);
    return part;
  }

  function standing(time: number): Standing | null {
    const part = parts[find(time)];
    if (part === undefined) return null;
    if (part.bytes < partBytesMin) return { part, until: part.stop };
    if (part.stored === undefined) return null;
    const times = both(part.stored, part.coming);
    if (times === null) return { part, until: Math.min(part.stop, monthOf(time).stop) };
    const behind = monthOf(times.high).stop;
    if (time >= behind || time < monthOf(times.low).start) return null;
    return { part, until: Math.min(part.stop, behind) };
  }

  async function ensure(time: number): Promise<Standing> {
    const at = find(time);
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

  /** A part for a stretch that none stands for; `next` is the index of the one behind it. */
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
    const version = versionOf(join(dir, part.path));
    await catalog.setHeld(part, part.held.encode(), version);
    part.recorded = version;
  }

  async function hold(part: StoredPart, series: readonly number[]): Promise<void> {
    part.looking?.add(series);
    if (part.held?.add(series) === true) part.recorded = null;
    // Also what a full disk has kept off the record before.
    if (part.recorded === null) await record(part);
  }

  function missing({ path }: StoredPart): string | null {
    const now = identity(join(dir, path));
    if (now === null) return "it is missing";
    const opened = connections.peek(path);
    return opened === undefined || opened.file === now ? null : "it was replaced while it was in use";
  }

  async function use<T>(part: StoredPart, work: (client: Client) => Promise<T>): Promise<T> {
    const gone = missing(part);
    if (gone !== null) throw new DamagedPart(part, gone);
    try {
      return await work(await client(part));
    } catch (error) {
      if (error instanceof DamagedPart || !isDamage(error)) throw error;
      throw new DamagedPart(part, asError(error).message);
    }
  }

  for (const { dropped, format, start, stop, path, loose, held, file, flushed } of await catalog.parts()) {
    const found = statSync(join(dir, path), { throwIfNoEntry: false });
    // A file that is not as it was left, after a kill or as a backup, may hold other series.
    const isSame = held !== null && file === versionOf(join(dir, path));
    const part: StoredPart = {
      ...{ ...unused, start, stop, path, loose, bytes: found?.size ?? 0 },
      ...{ held: isSame ? decodeHeld(held) : null, recorded: file ?? "", flushed: flushed ?? undefined },
    };
    if (dropped) {
      await unlink(part);
      continue;
    }
    parts.push(part);
    // a killed process leaves a log to recover: done here, so that no reader meets the lock that takes
    if (found === undefined || (format >= PART_FORMAT && !needsRecovery(join(dir, path)))) continue;
    // What is wrong with it is told, and mended, once the store is open.
    if ((await headFault(join(dir, path))) !== null) continue;
    try {
      await client(part);
      if (format < PART_FORMAT) await catalog.replacePart(part);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  onChange(parts);

  return {
    list: () => parts,
    standing,
    ensure,
    expect: (part, low, high) => {
      part.coming = both(part.coming, { low, high });
    },
    lost: ({ start, stop, path, flushed, coming }) => {
      if (flushed === null || flushed === undefined) return { start, stop, path };
      const times = both(flushed, coming) ?? flushed;
      const [low, high] = [monthOf(times.low).start, monthOf(times.high).stop];
      return { start: Math.max(start, low), stop: Math.min(stop, high), path };
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
    nextName,
    connected: (part) => connections.peek(part.path)?.client,
    replace: async (part, path) => {
      await connections.close(part.path);
      await catalog.replacePart({ ...part, path });
      part.path = path;
      part.stored = undefined;
      // What is in this one was in the other.
      await record(part);
      onChange(parts);
    },
    missing,
    retire: (time) => {
      const retired = parts.filter((part) => part.stop <= time);
      for (const { path, stop } of retired) {
        leaving.add(path);
        retiredTo = Math.max(retiredTo, stop);
      }
      parts = parts.filter((part) => part.stop > time);
      onChange(parts);
      return retired.map(({ start, stop, path }) => ({ start, stop, path }));
    },
    unlink,
    close: async () => {
      await connections.closeAll();
      for (const part of parts) {
        if (part.held !== null && part.recorded !== versionOf(join(dir, part.path))) await record(part);
      }
    },
  };
}

const unused = {
  ...{ loose: 0, writtenAt: Number.NEGATIVE_INFINITY, bytes: 0, recorded: "" },
  ...{ held: null, looking: null, stored: undefined, coming: null, flushed: undefined },
} as const;

/** From the first of both to the last. */
export function both(a: Times | null, b: Times | null): Times | null {
  if (a === null || b === null) return a ?? b;
  return { low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) };
}

function needsRecovery(path: string): boolean {
  return existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
}

/** Which file a path names, and as of when; changes with every write that has come to the file itself. */
function versionOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`;
}

/** Which file a path names; null where there is none. */
function identity(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
