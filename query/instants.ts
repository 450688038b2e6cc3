/** Several series as one sequence of times. */
import { createSlice } from "../store/lib/scheduling.js";
import type { ReadRange, SeriesReader, SeriesRef } from "../store/series/series.js";
import { type NumberColumns, readNumbers } from "./points.js";

/** Points that one answer looks at, over all its series. */
export const instantPointsMax = 1_000_000;
/** Points held of all series together while they are merged. */
const heldMax = 100_000;

interface InstantsQuery {
  readonly store: SeriesReader;
  /** Each must hold numbers or booleans. */
  readonly series: readonly SeriesRef[];
  readonly range: Required<Pick<ReadRange, "start" | "stop">>;
  readonly pointsMax: number;
  /**
   * Called for each time at which there are points, ascending: value i is of series `series[i]`. False if it does not
   * take this time and wants no more.
   */
  readonly visit: (time: number, series: readonly number[], values: readonly number[]) => boolean;
  /** Receives how long the calls of a slice took. @throws to end the work */
  readonly spend: (ms: number) => void;
}

interface Instants {
  readonly points: number;
  /** The first time that was left out, microseconds; null: none. */
  readonly leftFrom: number | null;
}

/** Visits the times of a range in slices. */
export async function eachInstant(query: InstantsQuery): Promise<Instants> {
  const { series, pointsMax, visit, spend } = query;
  const cursors = series.map((one) => createCursor(query, one));
  const slice = createSlice();
  let began = performance.now();
  let points = 0;
  for (;;) {
    for (const cursor of cursors) {
      if (!cursor.isEmpty()) continue;
      spend(performance.now() - began);
      await cursor.fill();
      began = performance.now();
    }
    const time = cursors.reduce((least, cursor) => Math.min(least, cursor.time()), Number.POSITIVE_INFINITY);
    if (time === Number.POSITIVE_INFINITY) return { points, leftFrom: null };
    const at: number[] = [];
    const values: number[] = [];
    for (const [i, cursor] of cursors.entries()) {
      if (cursor.time() !== time) continue;
      at.push(i);
      values.push(cursor.take());
    }
    if (points + at.length > pointsMax) return { points, leftFrom: time };
    if (!visit(time, at, values)) return { points, leftFrom: time };
    points += at.length;
    if (!slice.isOver()) continue;
    spend(performance.now() - began);
    await slice.next();
    began = performance.now();
  }
}

/** A place in one series, read a piece at a time. */
function createCursor({ store, series, range }: InstantsQuery, own: SeriesRef) {
  const oldest = Math.max(1, Math.floor(heldMax / series.length));
  let from = range.start;
  let piece: NumberColumns = { times: new Float64Array(), values: new Float64Array() };
  let at = 0;
  let hasMore = true;
  return {
    isEmpty: () => hasMore && at === piece.times.length,
    fill: async () => {
      piece = await readNumbers(store, own, { start: from, stop: range.stop, oldest });
      at = 0;
      hasMore = piece.times.length === oldest;
      from = (piece.times.at(-1) ?? range.stop) + 1;
    },
    /** Infinite after the last point. */
    time: () => piece.times[at] ?? Number.POSITIVE_INFINITY,
    take: () => piece.values[at++] as number,
  };
}
