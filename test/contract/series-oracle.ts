/** What every series store must answer, by the plainest means: a map of times and luxon's calendar. */
import { DateTime } from "luxon";
import type {
  Aggregate,
  Columns,
  Point,
  ReadRange,
  SeriesRef,
  WindowUnit,
} from "../../store/series/series.js";

export function createOracle() {
  const all = new Map<SeriesRef, Map<number, number | string>>();
  const sorted = (series: SeriesRef) => [...(all.get(series) ?? [])].sort(([a], [b]) => a - b);
  const within = (series: SeriesRef, { start = -Infinity, stop = Infinity }: ReadRange) =>
    sorted(series).filter(([time]) => time >= start && time < stop);
  /** What each window adds up: its values, or the differences of an increase, which are doubles themselves. */
  const windows = (series: SeriesRef, edges: readonly number[], aggregate: Aggregate) => {
    const steps = new Map(stepsOf(sorted(series)));
    return edges.slice(1).map((stop, i) => {
      const points = within(series, { start: edges[i] ?? 0, stop });
      if (points.length === 0) return null;
      return points.map(([time, value]) =>
        aggregate === "increase" ? (steps.get(time) ?? 0) : Number(value),
      );
    });
  };
  return {
    write(points: readonly Point[]) {
      for (const { series, time, value } of points) {
        const times = all.get(series) ?? new Map<number, number | string>();
        times.set(time, typeof value === "boolean" ? Number(value) : value);
        all.set(series, times);
      }
    },
    read(series: SeriesRef, range: ReadRange): [number, number | string][] {
      const points = within(series, range);
      if (range.newest !== undefined) return range.newest === 0 ? [] : points.slice(-range.newest);
      return points.slice(0, range.oldest ?? points.length);
    },
    latest: (series: SeriesRef) => sorted(series).at(-1) ?? null,
    /** Exact: sums are rounded once, at their end. */
    aggregate(series: SeriesRef, edges: readonly number[], aggregate: Aggregate): (number | null)[] {
      return windows(series, edges, aggregate).map((terms) =>
        terms === null ? null : folds[aggregate](terms),
      );
    },
    /**
     * How far from that an engine may be: n·ε·Σ|v| for the sum of n values, ε being 2^-52 (Higham, Accuracy and
     * Stability of Numerical Algorithms, §4.2), and one ε more for the division of a mean. Zero for what is no sum.
     */
    bounds(series: SeriesRef, edges: readonly number[], aggregate: Aggregate): number[] {
      return windows(series, edges, aggregate).map((terms) => {
        if (terms === null || !["sum", "mean", "increase"].includes(aggregate)) return 0;
        const size = exactSum(terms.map(Math.abs));
        const bound = terms.length * Number.EPSILON * size;
        const ofMean = (bound + Number.EPSILON * size) / terms.length + Number.MIN_VALUE;
        return aggregate === "mean" ? ofMean : bound;
      });
    },
  };
}

/** Window edges of [start, stop) in microseconds, the two ends included. */
export function calendarEdges(start: number, stop: number, unit: WindowUnit, timezone: string): number[] {
  const edges = [start];
  let window = DateTime.fromMillis(Math.floor(start / 1000), { zone: timezone }).startOf(unit);
  for (;;) {
    let next = window;
    // Where clocks go back within an hour, the start of the next one may be this one's: look further on.
    for (let n = 1; next <= window; n += 1) next = window.plus({ [unit]: n }).startOf(unit);
    window = next;
    const edge = window.toMillis() * 1000;
    if (edge >= stop) break;
    if (edge > start) edges.push(edge);
  }
  return [...edges, stop];
}

export function pairsOf(columns: Columns): [number, number | string][] {
  return [...columns.times].map((time, i) => [time, columns.values[i] ?? Number.NaN]);
}

/** Whether each value is the expected one, or no further from it than its bound. */
export function agree(
  actual: readonly (number | null)[],
  expected: readonly (number | null)[],
  bounds: readonly number[],
): boolean {
  if (actual.length !== expected.length) return false;
  return actual.every((value, i) => {
    const other = expected[i] ?? null;
    if (value === null || other === null) return value === other;
    return value === other || Math.abs(value - other) <= (bounds[i] ?? 0);
  });
}

const folds: Record<Aggregate, (values: number[]) => number> = {
  max: (values) => values.reduce((a, b) => Math.max(a, b)),
  min: (values) => values.reduce((a, b) => Math.min(a, b)),
  sum: exactSum,
  increase: exactSum,
  mean: (values) => exactSum(values) / values.length,
  first: (values) => values[0] ?? Number.NaN,
  last: (values) => values.at(-1) ?? Number.NaN,
  count: (values) => values.length,
};

function stepsOf(points: readonly [number, number | string][]): [number, number][] {
  return points.map(([time, value], i) => {
    const earlier = points[i - 1];
    const now = Number(value);
    const before = Number(earlier?.[1]);
    return [time, earlier === undefined ? 0 : now < before ? now : now - before];
  });
}

/** The sum as whole multiples of the smallest double, rounded once. */
export function exactSum(values: readonly number[]): number {
  const total = values.reduce((sum, value) => sum + multiplesOf(value), 0n);
  const negative = total < 0n;
  const size = negative ? -total : total;
  // 64 digits, the last of them set where there were more, are rounded right by Number.
  const shift = Math.max(0, size.toString(2).length - 64);
  const cut = size >> BigInt(shift);
  const sticky = cut << BigInt(shift) === size ? 0n : 1n;
  // In two steps, neither of which leaves the range of doubles.
  const half = Math.trunc((shift - smallestExponent) / 2);
  const rounded = Number(cut | sticky) * 2 ** half * 2 ** (shift - smallestExponent - half);
  return negative ? -rounded : rounded;
}

const smallestExponent = 1074;

/** A double as a multiple of 2^-1074. */
function multiplesOf(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const exponent = (high >>> 20) & 0x7ff;
  const mantissa = (BigInt(high & 0xfffff) << 32n) | BigInt(bits.getUint32(4));
  const size = exponent === 0 ? mantissa : (mantissa | (1n << 52n)) << BigInt(exponent - 1);
  return high >>> 31 === 1 ? -size : size;
}
