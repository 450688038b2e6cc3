import type { Columns, SeriesReader, SeriesRef } from "../store/series/series.js";
import { type Range, toBounds } from "./range.js";

/** Fewer points make no line; from one more on, the range's lowest and highest are among them. */
export const maxPointsLeast = 3;
/** No chart has so many pixels across. */
export const maxPointsMost = 10_000;
/** Up to this many points all of them compete; beyond it, only the extremes of buckets do. */
const pointsExactMax = 50_000;
/** Buckets for each point of the answer; each contributes two candidates. */
const bucketsPerPoint = 2;

/**
 * At most `maxPoints` points of a range that make nearly the same line as all of them. Uses LTTB (Steinarsson 2013)
 * over the points, or, if there are many, over the lowest and highest of equal spans of time (MinMaxLTTB, Van Der
 * Donckt 2023), which the engine finds where the points lie. The ends, the lowest and the highest of the range are
 * always kept. Not for text.
 */
export async function downsample(
  store: SeriesReader,
  series: SeriesRef,
  range: Pick<Range, "start" | "stop">,
  maxPoints: number,
): Promise<Columns> {
  const span = await findSpan(store, series, range);
  if (span === null) return store.read(series, { ...toBounds(range), oldest: 1 });
  const width = bucketWidth(span, maxPoints);
  return thin(await store.extremes({ series, ...span, width, exactMax: pointsExactMax }), maxPoints);
}

/** Where the points of a range lie. */
interface Span {
  readonly start: number;
  readonly stop: number;
}

/** Null if there are no points. */
export async function findSpan(
  store: SeriesReader,
  series: SeriesRef,
  range: Pick<Range, "start" | "stop">,
): Promise<Span | null> {
  const bounds = toBounds(range);
  const [first, last] = await Promise.all([
    store.read(series, { ...bounds, oldest: 1 }),
    store.read(series, { ...bounds, newest: 1 }),
  ]);
  const [start] = first.times;
  const [end] = last.times;
  if (start === undefined || end === undefined) return null;
  return { start, stop: end + 1 };
}

/** Whether the points are so few that all compete. */
export async function isShort(
  store: SeriesReader,
  series: SeriesRef,
  { start, stop }: Span,
): Promise<boolean> {
  const calendar = { unit: "year", timezone: "UTC" } as const;
  const [count] = await store.aggregate({ series, edges: [start, stop], calendar, aggregate: "count" });
  return (count ?? 0) <= pointsExactMax;
}

export function bucketWidth({ start, stop }: Span, maxPoints: number): number {
  return Math.ceil((stop - start) / (maxPoints * bucketsPerPoint));
}

/**
 * At most `maxPoints` of the given points: the first and the last, and, from four on, the lowest and the highest (of
 * equal ones the earliest). Text has no line, so evenly spaced points stand for it.
 */
export function thin(columns: Columns, maxPoints: number): Columns {
  if (columns.times.length <= maxPoints) return columns;
  const { kind, times, values } = columns;
  if (kind === "text") {
    const kept = evenly(times.length, maxPoints);
    return { kind, times: pick(times, kept), values: kept.map((i) => values[i] ?? "") };
  }
  const kept = line(times, values, maxPoints);
  return { kind, times: pick(times, kept), values: pick(values, kept) };
}

function pick(column: Float64Array, indexes: readonly number[]): Float64Array {
  return Float64Array.from(indexes, (i) => column[i] ?? Number.NaN);
}

function evenly(count: number, wanted: number): number[] {
  return Array.from({ length: wanted }, (_, i) => Math.round((i * (count - 1)) / (wanted - 1)));
}

/** LTTB between the points that must stay; each stretch gets as many points as its share of all points. */
function line(times: Float64Array, values: Float64Array, wanted: number): number[] {
  const fixed = fixedPoints(values, wanted);
  const stretches = fixed.slice(1).map((to, i) => [fixed[i] as number, to] as const);
  const shares = splitByShare(
    stretches.map(([from, to]) => to - from - 1),
    wanted - fixed.length,
  );
  const kept = stretches.flatMap((stretch, i) => largestTriangles(times, values, stretch, shares[i] ?? 0));
  return [0, ...kept];
}

function fixedPoints(values: Float64Array, wanted: number): number[] {
  const last = values.length - 1;
  if (wanted <= maxPointsLeast) return [0, last];
  let [low, high] = [0, 0];
  for (let i = 1; i <= last; i++) {
    if ((values[i] as number) < (values[low] as number)) low = i;
    if ((values[i] as number) > (values[high] as number)) high = i;
  }
  return [...new Set([0, low, high, last])].sort((a, b) => a - b);
}

/** Deals out `wanted`, which is less than the sum, in proportion to the sizes; the largest remainders first. */
function splitByShare(sizes: readonly number[], wanted: number): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const exact = sizes.map((size) => (total === 0 ? 0 : (size * wanted) / total));
  const shares = exact.map(Math.floor);
  const byRest = sizes.map((_, i) => i).sort((a, b) => fractionAt(exact, b) - fractionAt(exact, a) || a - b);
  const left = wanted - shares.reduce((sum, share) => sum + share, 0);
  for (const i of byRest.slice(0, left)) shares[i] = (shares[i] ?? 0) + 1;
  return shares;
}

const fractionAt = (exact: readonly number[], i: number): number => (exact[i] ?? 0) % 1;

/**
 * Largest-Triangle-Three-Buckets over the points after `start` and up to `end`, which stays. From each bucket it takes
 * the point that makes the largest triangle with the point kept before it and the middle of the bucket after it.
 * Buckets hold equal numbers of points.
 */
function largestTriangles(
  times: Float64Array,
  values: Float64Array,
  [start, end]: readonly [number, number],
  wanted: number,
): number[] {
  const size = (end - start - 1) / wanted;
  const edge = (bucket: number) => start + Math.min(1 + Math.floor(bucket * size), end - start);
  const kept: number[] = [];
  let before = start;
  for (let bucket = 0; bucket < wanted; bucket++) {
    const [from, to] = [edge(bucket), edge(bucket + 1)];
    const afterNext = bucket === wanted - 1 ? end + 1 : edge(bucket + 2);
    before = largestTriangle(times, values, before, [from, to], middle(times, values, to, afterNext));
    kept.push(before);
  }
  kept.push(end);
  return kept;
}

interface Place {
  readonly time: number;
  readonly value: number;
}

function middle(times: Float64Array, values: Float64Array, from: number, to: number): Place {
  // Averages differences, because times are large and differ little.
  const origin = times[from] as number;
  let time = 0;
  let value = 0;
  for (let i = from; i < to; i++) {
    time += (times[i] as number) - origin;
    value += (values[i] as number) / (to - from);
  }
  return { time: origin + time / (to - from), value };
}

function largestTriangle(
  times: Float64Array,
  values: Float64Array,
  before: number,
  [from, to]: readonly [number, number],
  { time, value }: Place,
): number {
  const [startTime, startValue] = [times[before] as number, values[before] as number];
  const [run, rise] = [time - startTime, value - startValue];
  let largest = -1;
  let found = from;
  for (let i = from; i < to; i++) {
    const area = Math.abs(
      run * ((values[i] as number) - startValue) - ((times[i] as number) - startTime) * rise,
    );
    if (area > largest) {
      largest = area;
      found = i;
    }
  }
  return found;
}
