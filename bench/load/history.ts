import type { WindowUnit } from "../../store/series/series.js";

/** One query of a dashboard: a range, and the windows whose means it wants. */
export interface Question {
  readonly name: string;
  readonly unit: WindowUnit;
  readonly flux: string;
  /** Window edges in milliseconds since 1970, UTC. */
  readonly edges: readonly number[];
}

const minuteMs = 60_000;

/** The whole year before `now`, UTC: all of it is past, so that no point is refused. */
export function yearBefore(now: Date): { year: number; startMs: number; stopMs: number } {
  const year = now.getUTCFullYear() - 1;
  return { year, startMs: Date.UTC(year, 0), stopMs: Date.UTC(year + 1, 0) };
}

/** Hourly means of a day, daily of a month, monthly of a year, daily of a year; June 15 and June where it is part. */
export function questions(year: number): Question[] {
  const june = 5;
  const days = (from: number, count: number) => edgesOf(count, (i) => Date.UTC(year, 0, from + i));
  const daysOfYear = (Date.UTC(year + 1, 0) - Date.UTC(year, 0)) / (1440 * minuteMs);
  return [
    {
      name: "hours of a day",
      unit: "hour",
      flux: "1h",
      edges: edgesOf(24, (i) => Date.UTC(year, june, 15, i)),
    },
    {
      name: "days of a month",
      unit: "day",
      flux: "1d",
      edges: edgesOf(30, (i) => Date.UTC(year, june, 1 + i)),
    },
    { name: "months of a year", unit: "month", flux: "1mo", edges: edgesOf(12, (i) => Date.UTC(year, i)) },
    { name: "days of a year", unit: "day", flux: "1d", edges: days(1, daysOfYear) },
  ];
}

function edgesOf(count: number, edge: (i: number) => number): number[] {
  return Array.from({ length: count + 1 }, (_, i) => edge(i));
}

/** A value every minute: a day's wave over a year's, in hundredths so that its text is exact. */
export function valueAt(timeMs: number): number {
  const day = Math.sin((2 * Math.PI * timeMs) / (1440 * minuteMs));
  const year = Math.cos((2 * Math.PI * timeMs) / (365 * 1440 * minuteMs));
  return Math.round(100 * (12 + 6 * day - 9 * year)) / 100;
}

/** The minutes of [startMs, stopMs), `size` at a time. */
export function* minuteBatches(startMs: number, stopMs: number, size: number): Generator<number[]> {
  for (let from = startMs; from < stopMs; from += size * minuteMs) {
    const count = Math.min(size, Math.ceil((stopMs - from) / minuteMs));
    yield Array.from({ length: count }, (_, i) => from + i * minuteMs);
  }
}

/** The same as device payloads: arrays of {time, temp}. */
export function* payloadsOf(startMs: number, stopMs: number, entries: number): Generator<string> {
  for (const times of minuteBatches(startMs, stopMs, entries)) {
    yield JSON.stringify(times.map((time) => ({ time, temp: valueAt(time) })));
  }
}
