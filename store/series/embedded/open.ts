/** The embedded series store: one thread that writes, some that read, and what they are asked. */

import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Transferable } from "node:worker_threads";
import type { Damage } from "../../files/damage.js";
import type { StoreError } from "../../lib/errors.js";
import { createQuerySemaphore } from "../query-semaphore.js";
import type { DeviceKey, Point, PointBatch, RefusedAt, RefusedPoint, SeriesStore } from "../series.js";
import { packBatch, packColumns } from "./batch.js";
import type { Part } from "./catalog-schema.js";
import type { Gap } from "./gaps.js";
import { createHandles } from "./handles.js";
import { isStorable, nameOfDevice, type RemovedScope } from "./names.js";
import type { WriteArgs, WriterCalls } from "./protocol.js";
import { createQuestions, questionsPerReader } from "./questions.js";
import { createReaders } from "./readers.js";
import { startWriter } from "./writer-thread.js";

export interface LibsqlSeriesOptions {
  /** Made if missing; used by one process at a time. */
  readonly dir: string;
  /** Points held in memory before a flush; while that runs, as many again. */
  readonly memtablePointsMax?: number;
  /** Text held likewise, in UTF-16 units. */
  readonly memtableTextBytesMax?: number;
  readonly flushIntervalMs?: number;
  /** A span of time gets a file of its own only where the one before it holds about so many bytes. */
  readonly partBytesMin?: number;
  /** Reader threads. */
  readonly readers?: number;
  /**
   * The writer thread has died and took points with it that only the journal still holds: every call fails from
   * now on, and the process must open the store anew and read the journal again from the checkpoint.
   */
  readonly onFailure?: (error: StoreError) => void;
  /** Told of damage on disk: damaged files and chunks are put aside, and the rest is answered. */
  readonly onDamage?: (damage: Damage) => void;
  /**
   * Points of this stretch were lost. It resolves once they have been written again as far as something still holds
   * them; until then the store remembers the gap, over restarts too.
   */
  readonly onGap?: (gap: Gap) => Promise<void>;
}

const HOUR_MS = 3_600_000;
const TEXT_BYTES_MAX = 64 << 20;
/** Some million points. */
const PART_BYTES_MIN = 16 << 20;

/** The embedded series store. @throws StoreError CORRUPT when its files are of a newer version, UNAVAILABLE. */
export async function openLibsqlSeriesStore(options: LibsqlSeriesOptions): Promise<SeriesStore> {
  const { dir, readers: readersMax = 2 } = options;
  await mkdir(dir, { recursive: true });
  const handles = createHandles();
  const readers = createReaders({
    dir,
    threads: readersMax,
    onFault: ({ path, chunk, fault }) => {
      ask("suspect", { path, chunk, fault }).catch(() => undefined);
    },
  });
  let parts: readonly Part[] = [];
  let closed: Promise<void> | undefined;
  const starting = startWriter(
    {
      dir,
      memtablePointsMax: options.memtablePointsMax ?? 1_000_000,
      memtableTextBytesMax: options.memtableTextBytesMax ?? TEXT_BYTES_MAX,
      flushIntervalMs: options.flushIntervalMs ?? HOUR_MS,
      partBytesMin: options.partBytesMin ?? PART_BYTES_MIN,
    },
    {
      onParts: (now) => {
        const gone = parts.filter((part) => !now.some((one) => one.path === part.path));
        parts = now;
        if (gone.length > 0) void readers.forget(gone.map((part) => part.path));
      },
      onDamage: (damage) => options.onDamage?.(damage),
      onGap: (gap) => {
        if (options.onGap === undefined) return;
        options.onGap(gap).then(
          () => ask("endGap", gap.id).catch(() => undefined),
          () => undefined,
        );
      },
      onFailure: (error) => options.onFailure?.(error),
    },
  );
  const writer = await starting.catch(async (error: unknown) => {
    await readers.close();
    throw error;
  });

  async function ask<N extends keyof WriterCalls & string>(
    name: N,
    args: WriterCalls[N]["args"],
    more?: { transfer?: readonly Transferable[] },
  ): Promise<WriterCalls[N]["answer"]> {
    const { caller } = await starting;
    return caller.call(name, args, { ...more, prelude: handles.fresh() });
  }

  async function write(points: readonly Point[], through: number): Promise<RefusedPoint[]> {
    const { args, refused } = packBatch(points, through, handles);
    await ask("write", args, { transfer: buffersOf(args) });
    return refused;
  }

  async function writeBatch(batch: PointBatch): Promise<readonly RefusedAt[]> {
    const { args, refused } = packColumns(batch, handles);
    await ask("write", args, { transfer: buffersOf(args) });
    return refused;
  }

  const semaphore = createQuerySemaphore(questionsPerReader * Math.max(1, readersMax));
  const deps = { handles, ask, readers, semaphore };

  async function remove(scopes: readonly RemovedScope[]): Promise<void> {
    await ask("remove", scopes.filter(isStorable));
  }

  async function whichHavePoints(devices: readonly DeviceKey[]): Promise<boolean[]> {
    const keys = devices
      .filter(isStorable)
      .map(({ tenant, productID, deviceID }) => ({ tenant, productID, deviceID }));
    const having = new Set(
      (await ask("havePoints", keys)).map((index) => nameOfDevice(keys[index] as DeviceKey)),
    );
    return devices.map((device) => having.has(nameOfDevice(device)));
  }

  async function removeBefore(time: number): Promise<void> {
    const retired = await ask("retire", time);
    await readers.forget(retired.map((part) => part.path));
    await ask("dropOld", { time, retired });
  }

  async function closeAll(): Promise<void> {
    await ask("flush", null).catch(() => undefined);
    // Whoever closes a file last moves its log into it: then the writer can say what the files are from now on.
    await readers.close();
    try {
      await ask("close", null);
    } finally {
      await writer.stop();
    }
  }

  return {
    checkpoint: () => ask("checkpoint", null),
    write,
    writeBatch,
    flush: async () => {
      await ask("flush", null);
    },
    ...createQuestions(deps, null),
    under: (signal) => createQuestions(deps, signal),
    whichHavePoints,
    removeDevices: (devices) =>
      remove(devices.map(({ tenant, productID, deviceID }) => ({ tenant, productID, deviceID }))),
    removeFields: (fields) =>
      remove(fields.map(({ tenant, productID, field }) => ({ tenant, productID, field }))),
    removeBefore,
    close: () => {
      closed ??= closeAll();
      return closed;
    },
    files: {
      list: () => ["catalog.db", ...parts.map((part) => part.path)].map((name) => join(dir, name)),
      suspect: async (path, fault) => {
        await ask("suspect", { path: basename(path), chunk: null, fault });
      },
    },
  };
}

/** The buffers of a batch's columns, which may share them. */
const buffersOf = ({ handles, times, values }: WriteArgs): ArrayBuffer[] => [
  ...new Set([handles, times, values].map((column) => column.buffer as ArrayBuffer)),
];
