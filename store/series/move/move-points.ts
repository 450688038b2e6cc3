/** Moves points from one series store to another: what the other one has already stays as it is there. */

import { asError, isUnavailable } from "../../lib/errors.js";
import { retry } from "../../lib/retry.js";
import { textsPerReadBytes } from "../../lib/text-bytes.js";
import type { Columns, SeriesQuestions, SeriesRef, SeriesStore } from "../series.js";
import { createBatchWriter } from "./batch-writer.js";

/** A device with the series of all its data points. */
export interface MovedDevice {
  /** Devices come in the order of their ids. */
  readonly id: number;
  readonly series: readonly SeriesRef[];
}

interface PointMove {
  readonly from: SeriesStore;
  readonly to: SeriesStore;
  /** Some devices at a time, some hundreds at the most. */
  readonly devices: AsyncIterable<readonly MovedDevice[]>;
  readonly signal: AbortSignal;
  /**
   * Called once everything of the devices up to this id is on disk in the other store, and counted there; with what of
   * the last of them is not.
   */
  moved(upTo: number, counts: MoveCounts, notMoved: readonly NotMoved[]): Promise<void>;
}

export interface MoveCounts {
  readonly devices: number;
  /** Series that have points. */
  readonly series: number;
  /** Points that were read. */
  readonly points: number;
  /** Those of them that were written: the other store did not have them. */
  readonly written: number;
  /** Those that the other store will never take. */
  readonly refused: number;
}

/** Why something of a series is not in the other store. */
export interface NotMoved {
  readonly series: SeriesRef;
  readonly reason: string;
}

/** Series of one device that are known to have points, and the same of whether the other store may hold some. */
interface Task {
  readonly series: SeriesRef;
  readonly isNew: boolean;
}

/** Of a series: points read, and those of them that the other store must have. */
interface Copied {
  readonly read: number;
  readonly first: number;
  readonly last: number;
}

export const noCounts: MoveCounts = { devices: 0, series: 0, points: 0, written: 0, refused: 0 };

/** Devices whose series are read at once: a store across a network answers several as quickly as one. */
const devicesAtOnce = 4;
const pointsPerPiece = 10_000;

/**
 * Repeating it, from the beginning or from any device, changes nothing: a point of the source is written only where
 * the other store has none of that time. Afterwards each series is counted there. While a store is away it waits.
 * @throws whatever the signal was aborted with
 */
export async function movePoints(move: PointMove, begun: MoveCounts): Promise<MoveCounts> {
  const { signal } = move;
  let counts = begun;
  for await (const devices of move.devices) {
    const last = devices.at(-1);
    if (last === undefined) continue;
    const { notMoved, ...done } = await retry(() => moveDevices(move, devices), {
      signal,
      delayMs: awayMs,
      isTransient: isUnavailable,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
    counts = sumOf(counts, done);
    await move.moved(last.id, counts, notMoved);
  }
  return counts;
}

const awayMs = { first: 200, longest: 10_000 };

const sumOf = (one: MoveCounts, other: MoveCounts): MoveCounts => ({
  devices: one.devices + other.devices,
  series: one.series + other.series,
  points: one.points + other.points,
  written: one.written + other.written,
  refused: one.refused + other.refused,
});

async function moveDevices(
  move: PointMove,
  devices: readonly MovedDevice[],
): Promise<MoveCounts & { readonly notMoved: readonly NotMoved[] }> {
  const { from, to, signal } = move;
  signal.throwIfAborted();
  const [source, target] = [from.under(signal), to.under(signal)];
  const notMoved: NotMoved[] = [];
  const writer = createBatchWriter(to);
  const copies: { readonly series: SeriesRef; readonly copied: Copied }[] = [];
  await inParallel(devicesAtOnce, await withPoints(move, devices, source, notMoved), async (tasks) => {
    for (const task of tasks) {
      const { series } = task;
      try {
        copies.push({ series, copied: await copySeries(task, source, target, writer.add) });
      } catch (error) {
        if (!isOfSeries(error)) throw error;
        notMoved.push({ series, reason: asError(error).message });
      }
    }
  });
  const { written, refused } = await writer.end();
  notMoved.push(...refused);
  const refusedOf = countBy(refused.map(({ series }) => series));
  await inParallel(devicesAtOnce, copies, async ({ series, copied }) => {
    const expected = copied.read - (refusedOf.get(series) ?? 0);
    const found = await countOf(target, series, copied);
    if (found >= expected) return;
    notMoved.push({ series, reason: `${found} of ${expected} points were counted in the other store` });
  });
  await to.flush();
  const points = copies.reduce((sum, { copied }) => sum + copied.read, 0);
  return {
    devices: devices.length,
    series: copies.length,
    points,
    written,
    refused: refused.length,
    notMoved,
  };
}

/** For each device that has points at all, its series that have. */
async function withPoints(
  { from, to }: PointMove,
  devices: readonly MovedDevice[],
  source: SeriesQuestions,
  notMoved: NotMoved[],
): Promise<Task[][]> {
  const named = devices.flatMap((device) => {
    const [first] = device.series;
    return first === undefined ? [] : [{ ...device, key: first }];
  });
  const keys = named.map(({ key: { tenant, productID, deviceID } }) => ({ tenant, productID, deviceID }));
  const inSource = await from.whichHavePoints(keys);
  const inTarget = await to.whichHavePoints(keys);
  const found: Task[][] = [];
  for (const [i, { series }] of named.entries()) {
    if (inSource[i] !== true) continue;
    const newest = await source.latest(series);
    const own: Task[] = [];
    for (const [at, ref] of series.entries()) {
      const one = newest[at] ?? null;
      if (one === null) continue;
      if ("error" in one) notMoved.push({ series: ref, reason: one.error.message });
      else own.push({ series: ref, isNew: inTarget[i] !== true });
    }
    if (own.length > 0) found.push(own);
  }
  return found;
}

type Add = (series: SeriesRef, columns: Columns, isKnown: (time: number) => boolean) => Promise<void>;

/** Hands on the points of a series that the other store does not have. */
async function copySeries(
  { series, isNew }: Task,
  source: SeriesQuestions,
  target: SeriesQuestions,
  add: Add,
): Promise<Copied> {
  let [read, first, last] = [0, Number.NaN, Number.NaN];
  for await (const piece of source.scan(series, { bytesMax: textsPerReadBytes }, pointsPerPiece)) {
    const { times } = piece;
    const [start, end] = [times[0], times.at(-1)];
    if (start === undefined || end === undefined) continue;
    if (read === 0) first = start;
    [read, last] = [read + times.length, end];
    const known = new Set<number>();
    if (!isNew) {
      const range = { start, stop: end + 1, bytesMax: textsPerReadBytes };
      for await (const there of target.scan(series, range, pointsPerPiece))
        for (const time of there.times) known.add(time);
    }
    await add(series, piece, (time) => known.has(time));
  }
  return { read, first, last };
}

/** How many points the store has of a series from the first to the last of the copied ones. */
async function countOf(target: SeriesQuestions, series: SeriesRef, { first, last }: Copied): Promise<number> {
  const [count] = await target.aggregate({
    series,
    edges: [first, last + 1],
    calendar: { unit: "year", timezone: "UTC" },
    aggregate: "count",
  });
  return count ?? 0;
}

/** An error of one series, not of a store that is away. */
const isOfSeries = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "MISMATCH";

function countBy(all: readonly SeriesRef[]): Map<SeriesRef, number> {
  const found = new Map<SeriesRef, number>();
  for (const one of all) found.set(one, (found.get(one) ?? 0) + 1);
  return found;
}

/** Rejects with the first error, once nothing of it runs any more. */
async function inParallel<T>(
  most: number,
  all: readonly T[],
  action: (one: T) => Promise<void>,
): Promise<void> {
  const rest = all.values();
  let failure: { readonly error: unknown } | null = null;
  async function work(): Promise<void> {
    for (const one of rest) {
      if (failure !== null) return;
      await action(one).catch((error: unknown) => {
        failure ??= { error };
      });
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, all.length) }, work));
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}
