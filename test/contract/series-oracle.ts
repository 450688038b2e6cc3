/** What every series store must answer, by the plainest means: a map of times and luxon's calendar. */
import { DateTime } from "luxon";
import type { Aggregate, Columns, Point, ReadRange, SeriesRef, WindowUnit } from "../../store/series.js";

export type Oracle = ReturnType<typeof createOracle>;

export function createOracle() {
  const all = new Map<SeriesRef, Map<number, number | string>>();
  const sorted = (series: SeriesRef) => [...(all.get(series) ?? [])].sort(([a], [b]) => a - b);
  const within = (series: SeriesRef, { start = -Infinity, stop = Infinity }: ReadRange) =>
    sorted(series).filter(([time]) => time >= start && time < stop);
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
    aggregate(series: SeriesRef, edges: readonly number[], aggregate: Aggregate): (number | null)[] {
      const steps = new Map(stepsOf(sorted(series)));
      return edges.slice(1).map((stop, i) => {
        const points = within(series, { start: edges[i] ?? 0, stop });
        if (points.length === 0) return null;
        if (aggregate === "increase") return sumOf(points.map(([time]) => steps.get(time) ?? 0));
        return folds[aggregate](points.map(([, value]) => Number(value)));
      });
    },
  };
}

/** Window edges of [start, stop) in microseconds, the two ends included; both must be whole milliseconds. */
export function calendarEdges(start: number, stop: number, unit: WindowUnit, timezone: string): number[] {
  const edges = [start];
  let window = DateTime.fromMillis(start / 1000, { zone: timezone }).startOf(unit);
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

/** Sums of doubles differ in their last digits by the order of addition: `scale` is what they are measured by. */
export function agree(
  actual: readonly (number | null)[],
  expected: readonly (number | null)[],
  scale: number,
): boolean {
  if (actual.length !== expected.length) return false;
  return actual.every((value, i) => {
    const other = expected[i] ?? null;
    if (value === null || other === null) return value === other;
    return value === other || Math.abs(value - other) <= 1e-9 * scale;
  });
}

const folds: Record<Exclude<Aggregate, "increase">, (values: number[]) => number> = {
  max: (values) => values.reduce((a, b) => Math.max(a, b)),
  min: (values) => values.reduce((a, b) => Math.min(a, b)),
  sum: sumOf,
  mean: (values) => sumOf(values) / values.length,
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

function sumOf(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
