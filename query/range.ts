import { StoreError } from "../store/lib/errors.js";
import type { WindowUnit } from "../store/series/series.js";
import { readRequestTime } from "./time-text.js";
import { windowEnd, windowsBefore } from "./windows.js";
import { type Zone, zone } from "./zone.js";

/** `real` stands for raw points; the others are calendar windows. */
export type TimeUnit = "real" | WindowUnit;

export const timeUnits = ["real", "minute", "hour", "day", "week", "month", "year"] as const;

export interface RangeRequest {
  readonly time_unit?: string | undefined;
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
}

/** Microseconds; an absent bound is open. `newest` bounds the number of raw points in an open range. */
export interface Range {
  readonly unit: TimeUnit;
  readonly zone: Zone;
  readonly start?: number;
  readonly stop?: number;
  readonly newest?: number;
}

/** How many windows a range has if the request does not say, including the current, unfinished one. */
const defaultWindows: Readonly<Record<WindowUnit, number>> = {
  minute: 60,
  hour: 24,
  day: 30,
  week: 12,
  month: 12,
  year: 5,
};

/** Number of raw points if a range has no start. */
const newestDefault = 100;

/**
 * Resolves a request's range; `now` in milliseconds. Windows: without endTime, the range ends with the current window;
 * without startTime, it has as many windows as the unit's default. `real`: without endTime, there is no upper bound;
 * without startTime, the range holds the newest 100 points before its end.
 * @throws StoreError INVALID naming each wrong parameter
 */
export function resolveRange(
  request: RangeRequest,
  unitDefault: TimeUnit,
  timezone: string,
  now: number,
): Range {
  const timeZone = zone(timezone);
  const unit = readUnit(request.time_unit, unitDefault);
  const start = readBound(request.startTime, timeZone, "startTime");
  const stop = readBound(request.endTime, timeZone, "endTime");
  const range = unit === "real" ? realRange(start, stop) : windowRange(unit, timeZone, start, stop, now);
  if (range.start !== undefined && range.stop !== undefined && range.start >= range.stop) {
    throw new StoreError("INVALID", "cannot answer a range that ends before it starts", {
      [stop === undefined ? "startTime" : "endTime"]: "the range must end after it starts",
    });
  }
  return { unit, zone: timeZone, ...range };
}

function readUnit(text: string | undefined, absent: TimeUnit): TimeUnit {
  if (text === undefined || text === "") return absent;
  const unit = timeUnits.find((one) => one === text);
  if (unit !== undefined) return unit;
  throw new StoreError("INVALID", "cannot use the time_unit", {
    time_unit: `must be one of ${timeUnits.join(", ")}`,
  });
}

function readBound(text: string | undefined, timeZone: Zone, parameter: string): number | undefined {
  return text === undefined || text === "" ? undefined : readRequestTime(text, timeZone, parameter);
}

type Bounds = Pick<Range, "start" | "stop" | "newest">;

function realRange(start: number | undefined, stop: number | undefined): Bounds {
  return {
    ...(start === undefined ? { newest: newestDefault } : { start }),
    ...(stop === undefined ? {} : { stop }),
  };
}

function windowRange(
  unit: WindowUnit,
  timeZone: Zone,
  start: number | undefined,
  stop: number | undefined,
  now: number,
): Bounds {
  const end = stop ?? windowEnd(unit, timeZone, now) * 1000;
  // The window that the end cuts, or that ends there, is the last of the default ones.
  const last = Math.floor((end - 1) / 1000);
  return { start: start ?? windowsBefore(unit, timeZone, last, defaultWindows[unit] - 1) * 1000, stop: end };
}

/** Start and stop of a range as the store takes them. */
export function toBounds(range: Pick<Range, "start" | "stop">): { start?: number; stop?: number } {
  return {
    ...(range.start === undefined ? {} : { start: range.start }),
    ...(range.stop === undefined ? {} : { stop: range.stop }),
  };
}
