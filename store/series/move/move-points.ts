/** Moves points from one series store to another: what the other one has already stays as it is there. */

import { asError, isUnavailable } from "../../lib/errors.js";
import { retryUntil } from "../../lib/retry.js";
import { textsPerReadBytes } from "../../lib/text-bytes.js";
import type { Columns, SeriesReader, SeriesRef, SeriesStore } from "../series.js";
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
}

interface PointCopy extends PointMove {
  /**
   * Called once everything of the devices up to this id is on disk in the other store; with what of the last of them is
   * not.
   */
  copied(upTo: number, counts: MoveCounts, notMoved: readonly NotMoved[]): Promise<void>;
}

interface PointCheck extends PointMove {
  /** Called with what of some devices is not in the other store. */
  checked(notMoved: readonly NotMoved[]): void;
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

/** A series that has points. */
interface Task {
  readonly series: SeriesRef;
  /** The other store has nothing of its device. */
  readonly isNew: boolean;
}

export const noCounts: MoveCounts = { devices: 0, series: 0, points: 0, written: 0, refused: 0 };

/** Devices whose series are read at once: a store across a network answers several as quickly as one. */
const devicesAtOnce = 4;
const pointsPerPiece = 10_000;

/**
 * Writes what the other store has no point of at its time. Repeating it, from the beginning or from any device, changes
 * nothing. While a store is away it waits. @throws whatever the signal was aborted with
 */
export async function copyPoints(move: PointCopy, begun: MoveCounts): Promise<MoveCounts> {
  let counts = begun;
  for await (const devices of move.devices) {
    const { notMoved, ...done } = await untilServed(move.signal, () => copyDevices(move, devices));
    counts = addCounts(counts, done);
    await move.copied(devices.at(-1)?.id ?? 0, counts, notMoved);
  }
  return counts;
}

/**
 * Looks for every point of the source at its time in the other store, and returns how many there are. While a store is
 * away it waits. @throws whatever the signal was aborted with
 */
export async function compareStores(move: PointCheck): Promise<number> {
  let points = 0;
  for await (const devices of move.devices) {
    const found = await untilServed(move.signal, () => checkDevices(move, devices));
    points += found.points;
    move.checked(found.notMoved);
  }
  return points;
}

const awayMs = { first: 200, longest: 10_000 };

async function untilServed<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const attempt = (): Promise<T> => {
    signal.throwIfAborted();
    return work();
  };
  return retryUntil(attempt, { signal, delayMs: awayMs, isTransient: isUnavailable }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw error;
    },
  );
}

const addCounts = (one: MoveCounts, other: MoveCounts): MoveCounts => ({
  devices: one.devices + other.devices,
  series: one.series + other.series,
  points: one.points + other.points,
  written: one.written + other.written,
  refused: one.refused + other.refused,
});

async function copyDevices(
  move: PointMove,
  devices: readonly MovedDevice[],
): Promise<MoveCounts & { readonly notMoved: readonly NotMoved[] }> {
  const writer = createBatchWriter(move.to);
  const { read, notMoved } = await readDevices(
    move,
    devices,
    await whichHavePoints(move.to, devices),
    writer.add,
  );
  const { written, refused } = await writer.end();
  await move.to.flush();
  return {
    devices: devices.length,
    series: read.length,
    points: read.reduce((sum, points) => sum + points, 0),
    written,
    refused: refused.length,
    notMoved: [...notMoved, ...refused],
  };
}

async function checkDevices(move: PointMove, devices: readonly MovedDevice[]) {
  const missing = new Map<SeriesRef, number>();
  const { read, notMoved } = await readDevices(
    move,
    devices,
    () => true,
    async (series, { times }, isKnown) => {
      const count = times.reduce((sum, time) => (isKnown(time) ? sum : sum + 1), 0);
      if (count > 0) missing.set(series, (missing.get(series) ?? 0) + count);
    },
  );
  const named = [...missing].map(([series, count]) => ({
    series,
    reason: `${count} points are not in the other store`,
  }));
  return { points: read.reduce((sum, points) => sum + points, 0), notMoved: [...notMoved, ...named] };
}

type Take = (series: SeriesRef, columns: Columns, isKnown: (time: number) => boolean) => Promise<void>;

/** Hands on all points of the devices; returns how many there were of each series that has any. */
async function readDevices(
  { from, to, signal }: PointMove,
  devices: readonly MovedDevice[],
  mayBeInTarget: (device: MovedDevice) => boolean,
  take: Take,
): Promise<{ readonly read: number[]; readonly notMoved: NotMoved[] }> {
  const [source, target] = [from.under(signal), to.under(signal)];
  const notMoved: NotMoved[] = [];
  const read: number[] = [];
  const isInSource = await whichHavePoints(from, devices);
  await inParallel(devicesAtOnce, devices.filter(isInSource), async (device) => {
    const isNew = !mayBeInTarget(device);
    for (const series of await seriesWithPoints(source, device, notMoved)) {
      try {
        read.push(await readSeries({ series, isNew }, source, target, take));
      } catch (error) {
        if (!isOfSeries(error)) throw error;
        notMoved.push({ series, reason: asError(error).message });
      }
    }
  });
  return { read, notMoved };
}

/** For each of the devices: whether the store may hold points of it. */
async function whichHavePoints(
  store: SeriesStore,
  devices: readonly MovedDevice[],
): Promise<(device: MovedDevice) => boolean> {
  const named = devices.filter(({ series }) => series.length > 0);
  const keys = named.map(({ series: [first] }) => first as SeriesRef);
  const found = await store.whichHavePoints(
    keys.map(({ tenant, productID, deviceID }) => ({ tenant, productID, deviceID })),
  );
  const having = new Set(named.filter((_, i) => found[i] === true));
  return (device) => having.has(device);
}

async function seriesWithPoints(
  source: SeriesReader,
  { series }: MovedDevice,
  notMoved: NotMoved[],
): Promise<SeriesRef[]> {
  const newest = await source.latest(series);
  return series.filter((ref, at) => {
    const one = newest[at] ?? null;
    if (one === null) return false;
    if (!("error" in one)) return true;
    notMoved.push({ series: ref, reason: one.error.message });
    return false;
  });
}

/** Passes on the points of a series, and which of them the other store already has. Returns how many there are. */
async function readSeries(
  { series, isNew }: Task,
  source: SeriesReader,
  target: SeriesReader,
  take: Take,
): Promise<number> {
  let read = 0;
  for await (const piece of source.scan(series, { bytesMax: textsPerReadBytes }, pointsPerPiece)) {
    const { times } = piece;
    const [start, end] = [times[0], times.at(-1)];
    if (start === undefined || end === undefined) continue;
    read += times.length;
    const known = new Set<number>();
    if (!isNew) {
      const range = { start, stop: end + 1, bytesMax: textsPerReadBytes };
      for await (const there of target.scan(series, range, pointsPerPiece))
        for (const time of there.times) known.add(time);
    }
    await take(series, piece, (time) => known.has(time));
  }
  return read;
}

/** An error of one series, not of a store that is away. */
const isOfSeries = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "MISMATCH";

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
