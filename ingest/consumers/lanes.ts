import { waitUntil } from "../../store/lib/abortable.js";
import { asError } from "../../store/lib/errors.js";
import { retry } from "../../store/lib/retry.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type PointSource, quarantine } from "../../store/metadata/quarantine.js";
import type { Point, RefusedPoint, SeriesStore } from "../../store/series/series.js";
import { count, type Meter } from "../meter.js";

export interface LanesOptions {
  readonly series: SeriesStore;
  readonly db: Db;
  readonly meter: Meter;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Writes under way at once. A device always takes the same lane, so its points stay in order. */
  readonly lanes: number;
  readonly onTrouble: (error: Error | null) => void;
}

const retryDelayMs = { first: 200, longest: 10_000 } as const;

/** The message that a point of the batch came with. */
export type SourceOf = (point: Point) => PointSource | null;

/** Writes batches in the order of each device, several at once. */
export interface Lanes {
  /**
   * Resolves when there is room for the next; `settled` is called once these points can be read, except those
   * that the store refused.
   */
  write(
    points: readonly Point[],
    through: number,
    settled: (refused: ReadonlySet<Point>) => void,
    sourceOf: SourceOf,
  ): Promise<void>;
  idle(): Promise<void>;
}

/** Writes that wait for the one under way, per lane. */
const queuedWritesMax = 2;

export function createLanes(options: LanesOptions, signal: AbortSignal): Lanes {
  const lanes = Array.from({ length: options.lanes }, () => ({ tail: Promise.resolve(), queued: 0 }));
  /** The follower and a replay may both wait. */
  const waiting = new Set<() => void>();
  /** Settling follows the order of writes, whichever lane ends first. */
  let settling: Promise<void> = Promise.resolve();

  async function enter(
    lane: (typeof lanes)[number],
    points: readonly Point[],
    through: number,
    sourceOf: SourceOf,
  ): Promise<readonly RefusedPoint[]> {
    lane.queued++;
    const written = lane.tail.then(() => writeUntilStored(options, points, through, sourceOf, signal));
    const ended = written.finally(() => {
      lane.queued--;
      for (const wake of waiting) wake();
      waiting.clear();
    });
    lane.tail = ended.then(() => undefined);
    return ended;
  }

  return {
    write: async (points, through, settled, sourceOf) => {
      const parts = split(points, lanes.length);
      // A lane cannot know how far the others are: with several, the checkpoint moves once all have written.
      const own = lanes.length === 1 ? through : 0;
      const all = parts.map((part, i) => enter(lanes[i] as (typeof lanes)[number], part, own, sourceOf));
      settling = Promise.all([Promise.all(all), settling]).then(async ([refused]) => {
        if (signal.aborted) return;
        if (own !== through) await writeUntilStored(options, [], through, () => null, signal);
        const not = new Set(refused.flat().map(({ point }) => point));
        options.meter.pointsStored += points.length - not.size;
        settled(not);
      });
      while (lanes.some((lane) => lane.queued > queuedWritesMax) && !signal.aborted) {
        await waitUntil(signal, (wake) => void waiting.add(wake));
      }
    },
    idle: () => settling,
  };
}

/** One part a lane; a device keeps its lane. */
function split(points: readonly Point[], lanes: number): readonly (readonly Point[])[] {
  if (lanes === 1) return [points];
  const parts: Point[][] = Array.from({ length: lanes }, () => []);
  for (const point of points) (parts[laneOf(point.series.deviceID, lanes)] as Point[]).push(point);
  return parts;
}

function laneOf(deviceID: string, lanes: number): number {
  let hash = deviceID.length;
  for (let at = 0; at < deviceID.length; at++) hash = (hash * 31 + deviceID.charCodeAt(at)) | 0;
  return (hash >>> 0) % lanes;
}

/** Tries until the store has taken the points, or the signal is aborted; what it will never take is quarantined. */
async function writeUntilStored(
  options: LanesOptions,
  points: readonly Point[],
  through: number,
  sourceOf: SourceOf,
  signal: AbortSignal,
): Promise<readonly RefusedPoint[]> {
  const { series, db, meter, now, onTrouble } = options;
  const write = async (): Promise<readonly RefusedPoint[]> => {
    if (signal.aborted) return [];
    const refused = await series.write(points, through);
    // An empty write only moves the checkpoint: it says nothing of the other lanes' troubles.
    if (points.length > 0) onTrouble(null);
    if (refused.length > 0) {
      count(meter.refused, "series", refused.length);
      await quarantine(db, now(), refused, ({ point }) => sourceOf(point));
    }
    return refused;
  };
  try {
    return await retry(write, { signal, delayMs: retryDelayMs, isTransient: () => true, onTrouble });
  } catch (error) {
    onTrouble(asError(error));
    return [];
  }
}
