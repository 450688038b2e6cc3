/** The files of points as their only writer sees them: the span of time that each stands for, and what it may hold. */

import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { headFault } from "../../files/database-file.js";
import type { RemovedPoints } from "../series.js";
import type { SeriesCatalog } from "./catalog.js";
import { type CatalogPart, partFormat } from "./catalog-schema.js";
import { createHeldSeries } from "./held-series.js";
import { countPoints } from "./part-file.js";
import { createPartList } from "./part-list.js";
import { createPlacement, type OpenPart } from "./placement.js";
import { decodeSeriesSet } from "./series-set.js";
import { joinTimes, type StoredPart, unknownPart } from "./stored-part.js";
import { createWriterFiles, useFile, type WriterFiles } from "./writer-files.js";

/** Spans of time that do not overlap, ascending. */
export interface Parts {
  list(): readonly StoredPart[];
  /** The part that stands for a time already; null where one must first be made, cut off or looked at. */
  standing(time: number): OpenPart | null;
  /** The same, made or cut off where necessary; readers hear of it before its first point leaves the memtable. */
  ensure(time: number): Promise<OpenPart>;
  /** Points of [low, high] (both included) are on their way into the part. */
  expect(part: StoredPart, low: number, high: number): void;
  /** Must be called before the first chunk of a series is written into the part. */
  hold(part: StoredPart, series: readonly number[]): Promise<void>;
  /** The survey of a part has ended: it holds nothing else. */
  looked(part: StoredPart): Promise<void>;
  /** The parts of [start, stop) that may hold the series, ascending. */
  holding(series: number, start: number, stop: number): StoredPart[];
  /** Works on a part's file. @throws DamagedPart when the file is damaged or gone */
  use<T>(part: StoredPart, work: (client: Client) => Promise<T>): Promise<T>;
  /** The name for a file that replaces one of this name: neither a part nor another file in the folder has it. */
  nextName(old: string): string;
  /** The connection that is already open, to a file that may be gone; undefined where there is none. */
  connected(part: StoredPart): Client | undefined;
  /** From now on the part lies in another file; the old one is closed. */
  replace(part: StoredPart, path: string): Promise<void>;
  /** Why the file of a part cannot be what was written, as far as its folder shows; null when all is well. */
  missing(part: StoredPart): string | null;
  /** Takes every part that ends at or before `time` off the list. */
  retire(time: number): CatalogPart[];
  /** What a retired part holds, as far as it can be read. */
  contents(part: CatalogPart): Promise<RemovedPoints>;
  unlink(part: CatalogPart): Promise<void>;
  /** Closes the files, then puts their present versions on record. */
  close(): Promise<void>;
}

/** @param partBytesMin a span is cut only where its file has so much: sparse points stay together */
export async function openParts(deps: {
  dir: string;
  catalog: SeriesCatalog;
  partBytesMin: number;
  onChange: (parts: readonly CatalogPart[]) => void;
}): Promise<Parts> {
  const { dir, catalog, partBytesMin, onChange } = deps;
  const files = createWriterFiles(dir);
  const loaded = await loadParts(dir, catalog, files);
  onChange(loaded);
  const list = createPartList(loaded, onChange);
  const { standing, ensure } = createPlacement({ list, catalog, files, partBytesMin });
  const held = createHeldSeries(catalog, files);

  return {
    list: list.all,
    standing,
    ensure,
    expect: (part, low, high) => {
      part.coming = joinTimes(part.coming, { low, high });
    },
    hold: held.add,
    looked: held.looked,
    holding: list.holding,
    use: (part, work) => useFile(files, part, work),
    nextName: (old) => files.nextName(old, list.isTaken),
    connected: (part) => files.opened(part.path),
    replace: async (part, path) => {
      await files.close(part.path);
      await catalog.replacePart({ ...part, path });
      part.path = path;
      part.stored = undefined;
      // The new file holds nothing that the old one did not.
      await held.record(part);
      onChange(list.all());
    },
    missing: ({ path }) => files.missing(path),
    retire: list.retire,
    contents: async ({ path }) => {
      if (files.missing(path) !== null) return { points: 0, oldest: null };
      try {
        return await countPoints(await files.open(path));
      } catch (error) {
        if (!isDamage(error)) throw error;
        return { points: 0, oldest: null };
      }
    },
    unlink: async (part) => {
      await unlink(part, catalog, files);
      list.unlinked(part.path);
    },
    close: async () => {
      await files.closeAll();
      for (const part of list.all()) await held.refresh(part);
    },
  };
}

async function unlink(
  part: CatalogPart,
  catalog: Pick<SeriesCatalog, "removePart">,
  files: WriterFiles,
): Promise<void> {
  await files.delete(part.path);
  await catalog.removePart(part);
}

/** The parts that the catalog lists. Those that retention had dropped when it was killed are unlinked. */
async function loadParts(dir: string, catalog: SeriesCatalog, files: WriterFiles): Promise<StoredPart[]> {
  const parts: StoredPart[] = [];
  for (const { dropped, format, start, stop, path, loose, held, file, flushed } of await catalog.parts()) {
    if (dropped) {
      await unlink({ start, stop, path }, catalog, files);
      continue;
    }
    const bytes = files.bytes(path);
    // A file that has changed since, by a kill or as a backup put back, may hold other series.
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
    // A killed process leaves a log to recover. That is done here, so that no reader meets the lock that it takes.
    if (bytes === null || (format >= partFormat && !files.needsRecovery(path))) continue;
    // A damaged file is reported and mended once the store is open.
    if ((await headFault(join(dir, path))) !== null) continue;
    try {
      await files.open(path);
      if (format < partFormat) await catalog.replacePart(part);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  return parts;
}
