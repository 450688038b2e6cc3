import { StoreError } from "../store/lib/errors.js";
import type { WindowUnit } from "../store/series/series.js";
import { wallMs, type Zone } from "./zone.js";

/**
 * Calendar windows of a time zone, one implementation for both engines. Instants in milliseconds, ranges in
 * microseconds. A window begins when its calendar unit first begins on the wall clock; weeks begin on Monday. If the
 * clock goes back within a minute or an hour, the repeated part is a window of its own with the same label; a day keeps
 * its label if the clock goes back over its midnight.
 */

export const windowsMax = 10_000;

/**
 * Window i is [edges[i], edges[i + 1]) in microseconds, the outer edges being the range's own. `starts` are the
 * instants at which the whole windows begin, in microseconds; `labels` the wall times of their calendar starts, in
 * milliseconds as if they were UTC. Neither depends on the range.
 */
interface Windows {
  readonly edges: readonly number[];
  readonly starts: readonly number[];
  readonly labels: readonly number[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Wall-clock milliseconds → the start of the unit on the wall clock. */
const floors: Readonly<Record<WindowUnit, (wall: number) => number>> = {
  minute: (wall) => Math.floor(wall / minuteMs) * minuteMs,
  hour: (wall) => Math.floor(wall / hourMs) * hourMs,
  day: (wall) => Math.floor(wall / dayMs) * dayMs,
  // 1970-01-05 was a Monday.
  week: (wall) => Math.floor((wall - 4 * dayMs) / (7 * dayMs)) * 7 * dayMs + 4 * dayMs,
  month: (wall) => shiftToStart(wall, (year, month) => [year, month]),
  year: (wall) => shiftToStart(wall, (year) => [year, 0]),
};

/** The start of a unit on the wall clock → the start of the unit `count` further on. */
const steps: Readonly<Record<WindowUnit, (wall: number, count: number) => number>> = {
  minute: (wall, count) => wall + count * minuteMs,
  hour: (wall, count) => wall + count * hourMs,
  day: (wall, count) => wall + count * dayMs,
  week: (wall, count) => wall + count * 7 * dayMs,
  month: (wall, count) => shiftToStart(wall, (year, month) => [year, month + count]),
  year: (wall, count) => shiftToStart(wall, (year) => [year + count, 0]),
};

function shiftToStart(
  wall: number,
  change: (year: number, month: number) => readonly [number, number],
): number {
  const date = new Date(wall);
  const [year, month] = change(date.getUTCFullYear(), date.getUTCMonth());
  return wallMs({ year, month: month + 1, day: 1, hour: 0, minute: 0, second: 0 });
}

const isShort = (unit: WindowUnit): boolean => unit === "minute" || unit === "hour";

/** The wall time at which the unit that holds `utc` begins. */
function windowLabel(unit: WindowUnit, zone: Zone, utc: number): number {
  let wall = floors[unit](utc + zone.offsetAt(utc));
  if (isShort(unit)) return wall;
  // The clock may have gone back over the start of the next unit, which still continues.
  for (;;) {
    const next = steps[unit](wall, 1);
    if (firstInstant(zone, next) > utc) return wall;
    wall = next;
  }
}

/** The first instant of the unit that holds `utc`. */
export function windowStart(unit: WindowUnit, zone: Zone, utc: number): number {
  const wall = windowLabel(unit, zone, utc);
  if (!isShort(unit)) return firstInstant(zone, wall);
  const start = wall - zone.offsetAt(utc);
  // A clock change within the unit begins a part of its own.
  return zone.offsetAt(start) === zone.offsetAt(utc) ? start : zone.nextChange(start, utc + 1);
}

/** The first instant of the unit after the one that holds `utc`. */
export function windowEnd(unit: WindowUnit, zone: Zone, utc: number): number {
  const offset = zone.offsetAt(utc);
  const wall = floors[unit](utc + offset);
  if (isShort(unit)) {
    const end = steps[unit](wall, 1) - offset;
    return zone.nextChange(utc, end);
  }
  for (let count = 1; ; count++) {
    const end = firstInstant(zone, steps[unit](wall, count));
    // A day that the zone has skipped begins and ends at the same instant.
    if (end > utc) return end;
  }
}

/** The start of the window `count` before the one that holds `utc`. */
export function windowsBefore(unit: WindowUnit, zone: Zone, utc: number, count: number): number {
  let start = windowStart(unit, zone, utc);
  for (let i = 0; i < count; i++) start = windowStart(unit, zone, start - 1);
  return start;
}

/** The first instant at or after a wall-clock midnight: if midnight is missing, the end of the gap. */
function firstInstant(zone: Zone, wall: number): number {
  const instant = zone.fromWall(wall);
  const missing = instant + zone.offsetAt(instant) !== wall;
  return missing ? zone.nextChange(instant - dayMs, instant) : instant;
}

/** A length that windows of the unit hardly fall below, for refusing a huge range before its windows are counted. */
const shortestMs: Readonly<Record<WindowUnit, number>> = {
  minute: minuteMs,
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
  month: 28 * dayMs,
  year: 365 * dayMs,
};

/**
 * The windows of [start, stop), microseconds: the first and last edges are the range's own.
 * @throws StoreError LIMIT beyond `windowsMax` windows
 */
export function listWindows(unit: WindowUnit, zone: Zone, start: number, stop: number): Windows {
  const tooMany = () =>
    new StoreError("LIMIT", `cannot answer more than ${windowsMax} windows a metric`, {
      time_unit: `at most ${windowsMax} windows: shorten the range or take a longer unit`,
    });
  if ((stop - start) / 1000 / shortestMs[unit] > windowsMax * 1.2 + 10) throw tooMany();
  const edges = [start];
  const starts: number[] = [];
  const labels: number[] = [];
  for (let at = start; at < stop; ) {
    if (labels.length === windowsMax) throw tooMany();
    // Clocks change at whole seconds, so the instant's millisecond determines its window.
    const ms = Math.floor(at / 1000);
    const end = Math.min(windowEnd(unit, zone, ms) * 1000, stop);
    starts.push(at === start ? windowStart(unit, zone, ms) * 1000 : at);
    labels.push(windowLabel(unit, zone, ms));
    edges.push(end);
    at = end;
  }
  return { edges, starts, labels };
}
