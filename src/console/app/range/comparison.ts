/** An earlier time beside a later one: by the wall clock, so that noon lies on noon whatever the clocks did between. */
import { clockChanges, fromWallTime, readOffset, toWallTime } from "../charts/zone.js";
import { resolveSpan } from "./range.js";

interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Earlier extends Span {
  /** Times of the earlier span as they stand on the later one; null for what its wall clock skips. */
  place(time: number): number | null;
}

/** @param by as in `-1w` */
export function findEarlier({ from, to }: Span, by: string, zone: string): Earlier {
  const start = resolveSpan({ start: by, end: "now" }, from, zone)?.from ?? from;
  const shift = toWallTime(zone, from) - toWallTime(zone, start);
  const end = fromWallTime(zone, toWallTime(zone, to) - shift);
  const [before, after] = [listStretches(zone, start, end), listStretches(zone, from, to)];
  return {
    from: start,
    to: end,
    place: (time) => {
      const wall = time + (before.findLast((one) => one.from <= time)?.offset ?? 0) + shift;
      for (const { from, until, offset } of after) {
        const at = wall - offset;
        if (at >= from && at < until) return at;
      }
      return null;
    },
  };
}

interface Stretch {
  readonly from: number;
  readonly until: number;
  readonly offset: number;
}

/** Times between two changes of the clock, the outer ones without an end. */
function listStretches(zone: string, from: number, to: number): Stretch[] {
  const changes = clockChanges(zone, from, to).map(({ time }) => time);
  const starts = [Number.NEGATIVE_INFINITY, ...changes];
  return starts.map((start, i) => ({
    from: start,
    until: starts[i + 1] ?? Number.POSITIVE_INFINITY,
    offset: readOffset(zone, Number.isFinite(start) ? start : from),
  }));
}

/** A line moved to the later span; of a doubled hour that the later one has once, the first is kept. */
export function movedTo<Value>(
  { place }: Earlier,
  times: readonly number[],
  values: readonly Value[],
): { readonly times: number[]; readonly values: Value[] } {
  const moved: { times: number[]; values: Value[] } = { times: [], values: [] };
  for (const [i, time] of times.entries()) {
    const at = place(time);
    if (at === null || at <= (moved.times.at(-1) ?? Number.NEGATIVE_INFINITY)) continue;
    moved.times.push(at);
    moved.values.push(values[i] as Value);
  }
  return moved;
}
