/** Decodes kept messages again, with their products as they were on arrival, while the series consumer is paused. */
import type { Journal } from "../../store/journal/journal.js";
import { StoreError } from "../../store/lib/errors.js";
import { textsPerReadBytes } from "../../store/lib/text-bytes.js";
import type { Point, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { followJournal } from "../followers/follower.js";
import { createDecoder, type DecoderOptions } from "./decoder.js";
import { createPointBatch } from "./point-batch.js";
import type { PointWriter } from "./point-writer.js";

/** Points of [start, stop), microseconds, that were lost; of one series or (null) of all. */
export interface LostPoints {
  readonly start: number;
  readonly stop: number;
  readonly series: Omit<SeriesRef, "kind"> | null;
}

interface Replayed {
  readonly messages: number;
  readonly points: number;
}

/** Decodes kept messages again. One replay or refill runs at a time. */
export interface Replays {
  /**
   * Decodes the kept messages after `afterID` again, as the product was when they came. New messages wait until it
   * ends, so that the later write of a point still wins. @throws StoreError UNAVAILABLE while one runs
   */
  replay(afterID: number): Promise<Replayed>;
  /**
   * Decodes the kept messages in (afterID, endID] again and writes those points that the gap covers and the store
   * does not hold: nothing is overwritten. Returns how many. @throws StoreError as `replay` does
   */
  refill(gap: LostPoints, afterID: number, endID: number): Promise<number>;
}

interface ReplayOptions extends DecoderOptions {
  readonly journal: Journal;
  readonly series: SeriesStore;
  /** Whether the record is a dead letter, which has no points. */
  readonly isAside: (id: number) => boolean;
  /** Points of one write. */
  readonly pointsMax: number;
}

/**
 * @param whilePaused runs work while the follower stands still, with everything written that it has decoded
 * @param settledID of the follower
 */
export function createReplays(
  options: ReplayOptions,
  writer: PointWriter,
  whilePaused: <T>(work: () => Promise<T>) => Promise<T>,
  settledID: () => number,
  signal: AbortSignal,
): Replays {
  return {
    replay: (afterID) =>
      whilePaused(() => {
        const span = { afterID, endID: settledID() };
        return replay(options, writer, span, async (points) => points, signal);
      }),
    refill: async (gap, afterID, endID) => {
      const span = { afterID, endID: Math.min(endID, settledID()) };
      const choose = missingFrom(options.series, gap);
      return (await whilePaused(() => replay(options, writer, span, choose, signal))).points;
    },
  };
}

/** Decodes the records in (afterID, endID] and writes those of their points that `choose` returns. */
async function replay(
  options: ReplayOptions,
  writer: PointWriter,
  span: { readonly afterID: number; readonly endID: number },
  choose: (points: Point[]) => Promise<Point[]>,
  signal: AbortSignal,
): Promise<Replayed> {
  const { journal, isAside, pointsMax } = options;
  const { afterID, endID } = span;
  let messages = 0;
  let points = 0;
  const batch = createPointBatch({
    afterID,
    pointsMax,
    lingerMs: 0,
    write: async (decoded, _through, sourceOf) => {
      const some = await choose(decoded);
      points += some.length;
      // The checkpoint stays where the follower has it.
      await writer.write(some, 0, () => undefined, sourceOf);
    },
  });
  const decoder = createDecoder(options, batch, true, null, signal);
  await followJournal(
    await journal.read(afterID),
    {
      pass: (id) => !isAside(id),
      enter: async () => false,
      begin: () => void decoder.begin(),
      take: (record, isDeadLetterRecord) => {
        messages++;
        return decoder.take(record, isDeadLetterRecord);
      },
      get isOver() {
        return batch.through >= endID;
      },
      caughtUp: async () => false,
    },
    signal,
  );
  if (signal.aborted) throw new StoreError("UNAVAILABLE", "cannot resettle: the service stops");
  await batch.flush();
  await writer.idle();
  return { messages, points };
}

const pointsPerPiece = 10_000;

/**
 * Chooses the points of the gap at whose times the store holds nothing but what was chosen before: of these a later one
 * still wins.
 */
function missingFrom(
  store: Pick<SeriesStore, "scan">,
  gap: LostPoints,
): (points: readonly Point[]) => Promise<Point[]> {
  const chosen = new Map<SeriesRef, Set<number>>();
  return async (points) => {
    const bySeries = new Map<SeriesRef, Point[]>();
    for (const point of points) {
      if (!isInGap(gap, point)) continue;
      const some = bySeries.get(point.series);
      if (some === undefined) bySeries.set(point.series, [point]);
      else some.push(point);
    }
    const missing: Point[] = [];
    for (const [ref, some] of bySeries) {
      const own = chosen.get(ref) ?? new Set();
      chosen.set(ref, own);
      const times = some.map((point) => point.time);
      const range = { start: Math.min(...times), stop: Math.max(...times) + 1 };
      const held = new Set<number>();
      const pieces = store.scan(ref, { ...range, bytesMax: textsPerReadBytes }, pointsPerPiece);
      for await (const piece of pieces) for (const time of piece.times) held.add(time);
      for (const point of some) {
        if (held.has(point.time) && !own.has(point.time)) continue;
        own.add(point.time);
        missing.push(point);
      }
    }
    return missing;
  };
}

function isInGap({ start, stop, series }: LostPoints, { time, series: of }: Point): boolean {
  const isInTime = time >= start && time < stop;
  if (!isInTime || series === null) return isInTime;
  return (
    of.field === series.field &&
    of.deviceID === series.deviceID &&
    of.productID === series.productID &&
    of.tenant === series.tenant
  );
}
