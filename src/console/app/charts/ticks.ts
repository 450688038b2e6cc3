/** Where an axis of time has its ticks, and what they say: by the wall clock of the zone. */
import { fromWallTime, readOffset, toWallTime } from "./zone.js";

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

type Step =
  | { readonly unit: "ms"; readonly size: number }
  | { readonly unit: "month"; readonly size: number };

/** Ascending. */
const steps: readonly Step[] = [
  ...[
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
    ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
    ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
    ...[1, 2, 3, 6, 12].map((n) => n * hour),
    ...[1, 2, 4, 7, 14].map((n) => n * day),
  ].map((size) => ({ unit: "ms", size }) as const),
  ...[1, 2, 3, 6, 12, 24, 60, 120, 240, 600].map((size) => ({ unit: "month", size }) as const),
];
const monthMs = 30.44 * day;
const stepLength = ({ unit, size }: Step): number => (unit === "ms" ? size : size * monthMs);

interface Ticks {
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly labels: readonly string[];
}

/** At most `most` ticks within [from, to]. */
export function createTicks(zone: string, from: number, to: number, most: number, language: string): Ticks {
  if (!(to > from) || most < 1) return { times: [], labels: [] };
  const step = steps.find((one) => (to - from) / stepLength(one) <= most) ?? (steps.at(-1) as Step);
  const times = listTickTimes(zone, from, to, step);
  return { times, labels: times.map((time) => formatTick(toWallTime(zone, time), step, language)) };
}

function listTickTimes(zone: string, from: number, to: number, step: Step): number[] {
  const found: number[] = [];
  const take = (time: number): void => {
    if (time >= from && time <= to && time > (found.at(-1) ?? Number.NEGATIVE_INFINITY)) found.push(time);
  };
  if (step.unit === "ms" && step.size < hour) {
    // Shorter than any change of the clock: evenly, so that a doubled hour is there twice.
    const offset = readOffset(zone, from);
    const first = Math.ceil((from + offset) / step.size) * step.size - offset;
    for (let time = first; time <= to; time += step.size) take(time);
    return found;
  }
  const last = toWallTime(zone, to) + day;
  for (let wall = floor(toWallTime(zone, from), step); wall <= last; wall = next(wall, step)) {
    const time = fromWallTime(zone, wall);
    // Where the clock skips it there is no such tick.
    if (toWallTime(zone, time) === wall) take(time);
  }
  return found;
}

/** Weeks begin on Monday. */
const firstMonday = Date.UTC(1970, 0, 5);

function floor(wall: number, { unit, size }: Step): number {
  if (unit === "month") {
    const date = new Date(wall);
    const month = date.getUTCFullYear() * 12 + date.getUTCMonth();
    const start = Math.floor(month / size) * size;
    const begin = new Date(0);
    // Date.UTC takes years below 100 for those of the last century.
    begin.setUTCFullYear(Math.floor(start / 12), start - Math.floor(start / 12) * 12, 1);
    return begin.getTime();
  }
  if (size < day) return Math.floor(wall / size) * size;
  const start = size % (7 * day) === 0 ? firstMonday : 0;
  return Math.floor((wall - start) / size) * size + start;
}

function next(wall: number, { unit, size }: Step): number {
  if (unit === "ms") return wall + size;
  const date = new Date(wall);
  date.setUTCMonth(date.getUTCMonth() + size);
  return date.getTime();
}

const months = new Map<string, Intl.DateTimeFormat>();

function formatMonth(date: Date, language: string): string {
  let found = months.get(language);
  if (found === undefined) {
    found = new Intl.DateTimeFormat(language, { month: "short", timeZone: "UTC" });
    months.set(language, found);
  }
  return found.format(date);
}

function formatTick(wall: number, step: Step, language: string): string {
  const date = new Date(wall);
  const clock = date.toISOString().slice(11, 23);
  if (step.unit === "month") {
    return date.getUTCMonth() === 0 || step.size >= 12
      ? String(date.getUTCFullYear())
      : formatMonth(date, language);
  }
  if (step.size >= day || wall % day === 0) {
    return language.startsWith("zh")
      ? `${date.getUTCMonth() + 1}月${date.getUTCDate()}日`
      : `${date.getUTCDate()} ${formatMonth(date, language)}`;
  }
  if (step.size >= minute) return clock.slice(0, 5);
  return step.size >= second ? clock.slice(0, 8) : clock;
}
