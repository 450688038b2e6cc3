/** Where the points of a series are: those in the memtables are answered at once, of the others the parts are named. */

import type { DeviceKey, ReadRange } from "../series.js";
import type { SeriesCatalog } from "./catalog.js";
import type { CatalogPart } from "./catalog-schema.js";
import { limitRun, mergeKnown, noTimeAbove, noTimeBelow, type Run } from "./columns.js";
import type { Flusher } from "./flusher.js";
import { parseSeriesName } from "./names.js";
import type { Parts } from "./parts.js";
import type { FindAnswer, LastPoint, PartOfSome, WriterCalls } from "./protocol.js";
import type { SeriesEntry, SeriesRegistry } from "./registry.js";

export interface Lookup {
  find(args: WriterCalls["find"]["args"]): Promise<FindAnswer>;
  findLast(handles: Int32Array): Promise<WriterCalls["findLast"]["answer"]>;
  /** Indexes of the devices that may have points. */
  havePoints(devices: readonly DeviceKey[]): Promise<number[]>;
  isInMemory(entry: SeriesEntry): boolean;
}

/** @param floor older points are being removed and must not be answered */
export function createLookup(deps: {
  registry: SeriesRegistry;
  catalog: Pick<SeriesCatalog, "find" | "devicesWithSeries">;
  parts: Pick<Parts, "list" | "holding">;
  flusher: Pick<Flusher, "tables">;
  floor: () => number;
}): Lookup {
  const { registry, catalog, parts, flusher, floor } = deps;

  function readMemory(entry: SeriesEntry, range: ReadRange): Run | null {
    const clipped = { ...range, start: Math.max(range.start ?? noTimeBelow, floor()) };
    const found = flusher.tables().map((table) => table.read(entry.slot, clipped));
    const runs = found.filter((run) => run !== null);
    const [older, newer] = runs;
    if (older === undefined || newer === undefined) return older ?? null;
    return limitRun(mergeKnown(older, newer, range.newest !== undefined), range);
  }

  function findLastPoint(entry: SeriesEntry, stop?: number): LastPoint | null {
    const run = readMemory(entry, stop === undefined ? { newest: 1 } : { newest: 1, stop });
    const time = run?.times.at(-1);
    const value = run?.values.at(-1);
    return time === undefined || value === undefined ? null : { time, value };
  }

  async function findID(entry: SeriesEntry): Promise<number> {
    if (entry.id === 0) {
      const id = await catalog.find(parseSeriesName(entry.name));
      // The series may have been removed meanwhile: it must not be found again by its name.
      if (!entry.removed && entry.id === 0) entry.id = id;
    }
    return entry.id;
  }

  const isInMemory = ({ slot }: SeriesEntry): boolean => flusher.tables().some((table) => table.has(slot));

  return {
    find: async ({ handle, range, before }) => {
      const entry = registry.byHandle(handle);
      const id = await findID(entry);
      const { start, stop } = range;
      const oldest = floor();
      const from = before ? oldest : Math.max(start ?? noTimeBelow, oldest);
      return {
        id,
        memory: readMemory(entry, range),
        before: before && start !== undefined ? findLastPoint(entry, start) : null,
        floor: oldest,
        parts: id === 0 ? [] : parts.holding(id, from, stop ?? noTimeAbove).map(plain),
      };
    },
    findLast: async (handles) => {
      const entries = Array.from(handles, (handle) => registry.byHandle(handle));
      for (const entry of entries) await findID(entry);
      // A flush may have given a series its id meanwhile: id and memory must be of the same moment.
      const ids = entries.map((entry) => entry.id);
      const living = parts.list().filter((part) => part.stop > floor());
      return {
        ids,
        memory: entries.map((entry) => findLastPoint(entry)),
        floor: floor(),
        parts: living.flatMap((part) => partOfSome(plain(part), part.held, ids)),
      };
    },
    havePoints: async (devices) => {
      const inFiles = new Set(await catalog.devicesWithSeries(devices));
      return [...devices.keys()].filter(
        (i) => inFiles.has(i) || registry.matching(devices.slice(i, i + 1)).some(isInMemory),
      );
    },
    isInMemory,
  };
}

const plain = ({ start, stop, path }: CatalogPart): CatalogPart => ({ start, stop, path });

/** The part with a bit for each series that it may hold; empty where it can hold none of them. */
function partOfSome(
  part: CatalogPart,
  held: { has(series: number): boolean } | null,
  ids: readonly number[],
): PartOfSome[] {
  const has = new Uint8Array(Math.ceil(ids.length / 8));
  let isAny = false;
  for (const [i, id] of ids.entries()) {
    if (id === 0 || held?.has(id) === false) continue;
    has[i >> 3] = (has[i >> 3] ?? 0) | (1 << (i & 7));
    isAny = true;
  }
  return isAny ? [{ ...part, has }] : [];
}
