/** The embedded series store: its threads, and how they are asked. */

import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Damage } from "../../files/damage.js";
import type { StoreError } from "../../lib/errors.js";
import { createQuerySemaphore } from "../query-semaphore.js";
import type { SeriesStore } from "../series.js";
import { packBatch, packColumns } from "./batch.js";
import type { Gap } from "./gaps.js";
import { createHandles } from "./handles.js";
import type { WriteArgs } from "./protocol.js";
import { createLibsqlReader, queriesPerReader } from "./queries.js";
import { createRemovalCalls } from "./removal-calls.js";
import { startThreads } from "./threads.js";

export interface LibsqlSeriesOptions {
  /** Made if missing; used by one process at a time. */
  readonly dir: string;
  /** Points held in memory before a flush; as many again while it runs. */
  readonly memtablePointsMax?: number;
  /** The same bound for text, in UTF-16 units. */
  readonly memtableTextBytesMax?: number;
  readonly flushIntervalMs?: number;
  /** A span of time gets a file of its own only once the file before it holds about so many bytes. */
  readonly partBytesMin?: number;
  /** When every chunk is first verified, milliseconds after the start; then daily. */
  readonly scrubAfterMs?: number;
  /** Reader threads. */
  readonly readers?: number;
  /**
   * The writer thread has died and took points with it that only the journal still holds: every call fails from
   * now on, and the process must open the store anew and read the journal again from the checkpoint.
   */
  readonly onFailure?: (error: StoreError) => void;
  /** Called for damage on disk: damaged files and chunks are quarantined, and queries answer from the rest. */
  readonly onDamage?: (damage: Damage) => void;
  /**
   * Points of this stretch were lost. The promise resolves once they have been written again as far as something still
   * holds them; until then the store remembers the gap, across restarts too.
   */
  readonly onGap?: (gap: Gap) => Promise<void>;
}

const hourMs = 3_600_000;
const textBytesMax = 64 << 20;
/** About a million points. */
const partBytesMin = 16 << 20;
const scrubAfterMs = 10 * 60_000;

/** The embedded series store. @throws StoreError CORRUPT when its files are of a newer version, UNAVAILABLE. */
export async function openLibsqlSeriesStore(options: LibsqlSeriesOptions): Promise<SeriesStore> {
  const { dir, readers: readersMax = 2 } = options;
  await mkdir(dir, { recursive: true });
  const handles = createHandles();
  const threads = await startThreads({
    writer: {
      dir,
      memtablePointsMax: options.memtablePointsMax ?? 1_000_000,
      memtableTextBytesMax: options.memtableTextBytesMax ?? textBytesMax,
      flushIntervalMs: options.flushIntervalMs ?? hourMs,
      partBytesMin: options.partBytesMin ?? partBytesMin,
      scrubAfterMs: options.scrubAfterMs ?? scrubAfterMs,
    },
    readers: readersMax,
    handles,
    listeners: options,
  });
  const { ask, readers } = threads;
  const semaphore = createQuerySemaphore(queriesPerReader * Math.max(1, readersMax));
  const deps = { handles, ask, readers, semaphore };

  async function write<R>({ args, refused }: { args: WriteArgs; refused: R }): Promise<R> {
    await ask("write", args, { transfer: listBuffers(args) });
    return refused;
  }

  return {
    checkpoint: (shard) => ask("checkpoint", shard ?? null),
    write: async (points, through) => write(packBatch(points, through, handles)),
    writeBatch: async (batch) => write(packColumns(batch, handles)),
    // A checkpoint is in the file that holds the points: nothing of it is kept here.
    letGo: async () => undefined,
    flush: async () => {
      await ask("flush", null);
    },
    ...createLibsqlReader(deps, null),
    under: (signal) => createLibsqlReader(deps, signal),
    ...createRemovalCalls(threads),
    close: threads.close,
    files: {
      list: () => ["catalog.db", ...threads.parts().map((part) => part.path)].map((name) => join(dir, name)),
      suspect: async (path, fault) => {
        await ask("suspect", { path: basename(path), chunk: null, fault });
      },
    },
  };
}

/** The buffers of a batch's columns, which may share them. */
const listBuffers = ({ handles, times, values }: WriteArgs): ArrayBuffer[] => [
  ...new Set([handles, times, values].map((column) => column.buffer as ArrayBuffer)),
];
