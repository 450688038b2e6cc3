/** Brings the points of the journal into the series store, batch by batch in their order, until it has taken them. */
import { waitUntil } from "../../store/lib/abortable.js";
import { asError } from "../../store/lib/errors.js";
import { retryUntil } from "../../store/lib/retry.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type PointSource, quarantine } from "../../store/metadata/quarantine.js";
import type { Point, RefusedPoint, SeriesStore } from "../../store/series/series.js";
import { addCount, type Meter } from "../meter.js";

export interface PointWriterOptions {
  readonly series: SeriesStore;
  readonly db: Db;
  readonly meter: Meter;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onTrouble: (error: Error | null) => void;
}

const retryDelayMs = { first: 200, longest: 10_000 } as const;

/** The message that a point of the batch came with. */
export type FindSource = (point: Point) => PointSource | null;

export interface PointWriter {
  /**
   * Resolves when the next can be written; `settled` is called once these points can be read, except those
   * that the store refused.
   */
  write(
    points: readonly Point[],
    through: number,
    settled: (refused: ReadonlySet<Point>) => void,
    sourceOf: FindSource,
  ): Promise<void>;
  /** Resolves once everything has been written. */
  idle(): Promise<void>;
}

/** Batches that may wait behind the one being written, so that decoding can go on. */
const waitingMax = 1;

export function createPointWriter(options: PointWriterOptions, signal: AbortSignal): PointWriter {
  let last: Promise<void> = Promise.resolve();
  let unsettled = 0;
  /** The follower and a replay may both wait. */
  const askers = new Set<() => void>();

  function leave(): void {
    unsettled--;
    for (const wake of askers) wake();
    askers.clear();
  }

  return {
    write: async (points, through, settled, sourceOf) => {
      unsettled++;
      last = last
        .then(async () => {
          const refused = await writeUntilStored(options, points, through, sourceOf, signal);
          if (signal.aborted) return;
          const not = new Set(refused.map(({ point }) => point));
          options.meter.pointsStored += points.length - not.size;
          settled(not);
        })
        .finally(leave);
      while (unsettled > 1 + waitingMax && !signal.aborted) {
        await waitUntil(signal, (wake) => void askers.add(wake));
      }
    },
    idle: () => last,
  };
}

/** Tries until the store has taken the points, or the signal is aborted; what it will never take is quarantined. */
async function writeUntilStored(
  options: PointWriterOptions,
  points: readonly Point[],
  through: number,
  sourceOf: FindSource,
  signal: AbortSignal,
): Promise<readonly RefusedPoint[]> {
  const { series, db, meter, now, onTrouble } = options;
  const write = async (): Promise<readonly RefusedPoint[]> => {
    if (signal.aborted) return [];
    const refused = await series.write(points, through);
    // An empty write only moves the checkpoint: it may not have asked the engine.
    if (points.length > 0) onTrouble(null);
    if (refused.length > 0) {
      addCount(meter.refused, "series", refused.length);
      await quarantine(db, now(), refused, ({ point }) => sourceOf(point));
    }
    return refused;
  };
  try {
    return await retryUntil(write, { signal, delayMs: retryDelayMs, isTransient: () => true, onTrouble });
  } catch (error) {
    onTrouble(asError(error));
    return [];
  }
}
