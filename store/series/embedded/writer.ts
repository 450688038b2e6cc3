import { join } from "node:path";
import type { Damage } from "../../files/damage.js";
import { headFault } from "../../files/database-file.js";
import { systemClock } from "../../lib/clock.js";
import { StoreError } from "../../lib/errors.js";
import { createLock, pause } from "../../lib/turns.js";
import type { DeviceKey, ReadRange } from "../series.js";
import type { Handlers } from "./calls.js";
import { catalogName, openCatalog } from "./catalog.js";
import type { Part } from "./catalog-schema.js";
import { limitRun, mergeKnown, NO_TIME_ABOVE, NO_TIME_BELOW, type Run } from "./columns.js";
import { createCompaction } from "./compact.js";
import { createFlusher } from "./flusher.js";
import type { Gap } from "./gaps.js";
import { createIntake } from "./intake.js";
import { createLooking } from "./looking.js";
import { createMender, gapOf } from "./mender.js";
import { keyOf, type RemovedScope } from "./names.js";
import { DamagedPart, openParts } from "./parts.js";
import { createProgress } from "./progress.js";
import type {
  Definitions,
  FindAnswer,
  LastPoint,
  PartOfSome,
  WriterCalls,
  WriterOptions,
} from "./protocol.js";
import { createRegistry, type SeriesEntry } from "./registry.js";
import { createRemoval } from "./removal.js";

interface Writer {
  readonly handlers: Handlers<WriterCalls>;
  define(definitions: Definitions): void;
}

/** Whom the writer tells of what happens beside the calls. */
interface WriterListeners {
  readonly onParts: (parts: readonly Part[]) => void;
  readonly onDamage: (damage: Damage) => void;
  readonly onGap: (gap: Gap) => void;
  /** The catalog can no longer be read: nothing can go on, and the next start makes it again. */
  readonly onCatalogLost: (error: Error) => void;
}

const HOUSEKEEPING_IDLE_MS = 30_000;
/** Housekeeping rests three times as long as it works. */
const HOUSEKEEPING_REST = 3;

const plain = ({ start, stop, path }: Part): Part => ({ start, stop, path });

/** The thread that holds the newest points and is alone in writing files. */
export async function openWriter(options: WriterOptions, listeners: WriterListeners): Promise<Writer> {
  const registry = createRegistry();
  const lock = createLock();
  const { dir } = options;
  const { onParts, onDamage, onGap } = listeners;
  const catalog = await openCatalog(dir, listeners);
  const { partBytesMin } = options;
  const parts = await openParts({ dir, catalog, partBytesMin, onChange: onParts });
  const mender = createMender({ dir, catalog, parts, onDamage, onGap });
  await tellGaps();
  await mendAll();
  const progress = createProgress((await catalog.number("checkpoint")) ?? 0);
  let floor = (await catalog.number("floor")) ?? NO_TIME_BELOW;
  const flusher = createFlusher({
    ...{ options, registry, catalog, parts, mender, lock, progress },
    floor: () => floor,
  });
  const intake = createIntake({ registry, flusher, progress });
  const removal = createRemoval({ catalog, parts, mender });
  const looking = createLooking(parts);
  const compaction = createCompaction({ catalog, parts, mender, clock: systemClock });
  let closing = false;
  let wake: () => void = () => undefined;

  function memoryOf(entry: SeriesEntry, range: ReadRange): Run | null {
    const clipped = { ...range, start: Math.max(range.start ?? NO_TIME_BELOW, floor) };
    const found = flusher.tables().map((table) => table.read(entry.slot, clipped));
    const runs = found.filter((run) => run !== null);
    const [older, newer] = runs;
    if (older === undefined || newer === undefined) return older ?? null;
    return limitRun(mergeKnown(older, newer, range.newest !== undefined), range);
  }

  function lastOf(entry: SeriesEntry, stop?: number): LastPoint | null {
    const run = memoryOf(entry, stop === undefined ? { newest: 1 } : { newest: 1, stop });
    const time = run?.times.at(-1);
    const value = run?.values.at(-1);
    return time === undefined || value === undefined ? null : { time, value };
  }

  async function idOf(entry: SeriesEntry): Promise<number> {
    if (entry.id === 0) {
      const id = await catalog.find(keyOf(entry.name));
      // a removal may have come in between: its series must not be found by the new name
      if (!entry.removed && entry.id === 0) entry.id = id;
    }
    return entry.id;
  }

  async function find(args: WriterCalls["find"]["args"]): Promise<FindAnswer> {
    const entry = registry.byHandle(args.handle);
    const id = await idOf(entry);
    const { start, stop } = args.range;
    const from = args.before ? floor : Math.max(start ?? NO_TIME_BELOW, floor);
    return {
      id,
      memory: memoryOf(entry, args.range),
      before: args.before && start !== undefined ? lastOf(entry, start) : null,
      floor,
      parts: id === 0 ? [] : parts.holding(id, from, stop ?? NO_TIME_ABOVE).map(plain),
    };
  }

  async function findLast(handles: Int32Array): Promise<WriterCalls["findLast"]["answer"]> {
    const entries = Array.from(handles, (handle) => registry.byHandle(handle));
    for (const entry of entries) await idOf(entry);
    // a flush may have named a series in between: only now do id and memory belong together
    const ids = entries.map((entry) => entry.id);
    return { ids, memory: entries.map((entry) => lastOf(entry)), floor, parts: partsOfSome(ids) };
  }

  function partsOfSome(ids: readonly number[]): PartOfSome[] {
    return parts.list().flatMap((part) => {
      if (part.stop <= floor) return [];
      const has = new Uint8Array(Math.ceil(ids.length / 8));
      let isAny = false;
      for (const [i, id] of ids.entries()) {
        if (id === 0 || part.held?.has(id) === false) continue;
        has[i >> 3] = (has[i >> 3] ?? 0) | (1 << (i & 7));
        isAny = true;
      }
      return isAny ? [{ ...plain(part), has }] : [];
    });
  }

  const isInMemory = ({ slot }: SeriesEntry): boolean => flusher.tables().some((table) => table.has(slot));

  async function havePoints(devices: readonly DeviceKey[]): Promise<number[]> {
    const inFiles = new Set(await catalog.devicesWithSeries(devices));
    return [...devices.keys()].filter(
      (i) => inFiles.has(i) || registry.matching(devices.slice(i, i + 1)).some(isInMemory),
    );
  }

  /**
   * With points of the series still in memory, these go to disk first: the checkpoint then covers them, and no
   * replay of the journal brings them back.
   */
  async function remove(scopes: readonly RemovedScope[]): Promise<null> {
    await intake.held(async () => {
      if (registry.matching(scopes).some(isInMemory)) await flusher.flush();
      await lock(async () => {
        await catalog.markRemoved(scopes);
        registry.remove(registry.matching(scopes));
      });
    });
    wake();
    return null;
  }

  async function retire(time: number): Promise<readonly Part[]> {
    // Most of what is in memory goes to the files while points come in; what is left holds them up for little.
    await flusher.flush();
    return intake.held(async () => {
      await flusher.flush();
      return lock(async () => {
        const limit = Math.max(floor, time);
        await catalog.dropBefore(limit);
        floor = limit;
        return parts.retire(limit);
      });
    });
  }

  async function dropOld({ time, retired }: WriterCalls["dropOld"]["args"]): Promise<null> {
    for (const part of retired) await lock(() => parts.unlink(part));
    while (await rested(() => removal.trimStep(time))) {
      if (closing) throw new StoreError("UNAVAILABLE", "cannot remove old points: the store is closing");
    }
    await lock(async () => {
      if (floor !== time) return;
      await catalog.clearFloor();
      floor = NO_TIME_BELOW;
    });
    return null;
  }

  /** One step in its turn, then a rest that leaves the disk and the thread to others. */
  async function rested(step: () => Promise<boolean>): Promise<boolean> {
    let workedMs = 0;
    const more = await lock(async () => {
      const began = performance.now();
      const result = !closing && (await step());
      workedMs = performance.now() - began;
      return result;
    });
    if (more) await pause(Math.min(1000, workedMs * HOUSEKEEPING_REST));
    return more;
  }

  async function keepHouse(): Promise<void> {
    if (floor !== NO_TIME_BELOW) await dropOld({ time: floor, retired: [] });
    while (!closing) {
      const more =
        (await rested(mender.step)) ||
        (await rested(removal.sweepStep)) ||
        (await rested(looking.step)) ||
        (await rested(compaction.step));
      if (!more) await idle();
    }
  }

  async function idle(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HOUSEKEEPING_IDLE_MS);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (closing) wake();
    });
  }

  /** A full disk stops housekeeping only until the next try; of a damaged file the sound part moves. */
  async function keepHouseAlways(): Promise<void> {
    while (!closing) {
      await keepHouse().catch((error: unknown) =>
        error instanceof DamagedPart ? lock(() => mender.move(error.part, error.fault)).catch(idle) : idle(),
      );
    }
  }

  /** Before the first answer: parts whose files have gone, or are no databases, are told of at once. */
  async function mendAll(): Promise<void> {
    for (const part of parts.list()) {
      const fault = parts.missing(part) ?? (await headFault(join(dir, part.path)));
      if (fault !== null) await mender.move(part, fault);
    }
  }

  async function tellGaps(): Promise<void> {
    for (const row of await catalog.gaps()) {
      const gap = await gapOf(catalog, row);
      if (gap === null) await catalog.removeGap(row.id);
      else onGap(gap);
    }
  }

  const housekeeping = keepHouseAlways();
  flusher.onFlushed(() => {
    intake.pump();
    wake();
  });

  async function close(): Promise<null> {
    try {
      await flusher.flush();
    } finally {
      closing = true;
      wake();
      flusher.stop();
      intake.stop();
      await housekeeping;
      await lock(async () => {
        await parts.close();
        catalog.close();
      });
    }
    return null;
  }

  return {
    define: ({ first, names }) => {
      for (const [i, name] of names.entries()) registry.define(first + i, name);
    },
    handlers: {
      write: intake.write,
      checkpoint: () => flusher.checkpoint(),
      flush: async () => {
        await flusher.flush();
        return null;
      },
      find,
      findLast,
      havePoints,
      remove,
      retire,
      dropOld,
      suspect: ({ path, chunk, fault }) => {
        if (path === catalogName) catalog.suspect(fault);
        else mender.suspect(path, chunk, fault);
        wake();
        return null;
      },
      endGap: async (id) => {
        await catalog.removeGap(id);
        return null;
      },
      close,
    },
  };
}
