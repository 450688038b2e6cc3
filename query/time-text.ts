import { microsOfDigits } from "../store/lib/bare-time.js";
import { StoreError } from "../store/lib/errors.js";
import { readIsoTime } from "../store/lib/iso-time.js";
import { earliestTime, latestTime } from "../store/lib/time-range.js";
import type { Zone } from "./zone.js";

/** The format of an answer's times. Times in microseconds. */
export type TimeFormat = "text" | "iso" | "ms";

/** An instant in milliseconds as `YYYY-MM-DD HH:MM:SS` in the zone. */
export function wallText(zone: Zone, utcMs: number): string {
  const wall = new Date(Math.floor(utcMs / 1000) * 1000 + zone.offsetAt(utcMs));
  const iso = wall.toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** RFC 3339 in UTC with as many decimals as needed, at most six. */
export function rfc3339(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const fraction = micros - seconds * 1e6;
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  if (fraction === 0) return `${text}Z`;
  return `${text}.${String(fraction)
    .padStart(6, "0")
    .replace(/0{1,5}$/, "")}Z`;
}

/** One time of an answer: text in the zone, RFC 3339 UTC, or milliseconds (fractions kept). */
export const timeWriters: Readonly<Record<TimeFormat, (zone: Zone, micros: number) => string | number>> = {
  text: (zone, micros) => wallText(zone, micros / 1000),
  iso: (_zone, micros) => rfc3339(micros),
  ms: (_zone, micros) => micros / 1000,
};

/**
 * A time of a request, microseconds since 1970: text of ISO 8601 (`store/lib/iso-time.ts`), in the zone where it has no
 * offset, or a number by its size (`store/lib/bare-time.ts`). @throws StoreError INVALID naming the parameter
 */
export function readRequestTime(text: string, zone: Zone, parameter: string): number {
  const bare = microsOfDigits(text);
  const micros =
    bare === undefined ? readIsoTime(text, (wallMs) => zone.fromWall(wallMs) * 1000, true) : bare;
  if (micros !== null && micros >= earliestTime && micros <= latestTime) return micros;
  const isTime = bare !== undefined || micros !== null;
  const why = isTime
    ? beyondTimes(micros === null ? text.startsWith("-") : micros < 0)
    : "must be YYYY-MM-DD HH:MM:SS, ISO 8601 or a number since 1970";
  throw new StoreError("INVALID", `cannot read ${parameter}`, { [parameter]: why });
}

function beyondTimes(isEarly: boolean): string {
  return isEarly
    ? `lies before ${dayText(earliestTime)}, the oldest time that there is`
    : `lies after ${dayText(latestTime)}, the last time that there is`;
}

const dayText = (micros: number): string => rfc3339(micros).slice(0, 10);

/** What a time parameter takes, for its description. */
export const timeForms =
  "YYYY-MM-DD HH:MM:SS in timezone, ISO 8601, or a number since 1970: seconds below 1e11, then milliseconds, from 1e14 on microseconds";

/** The same in whole milliseconds, fractions cut off. */
export function readRequestMs(text: string, zone: Zone, parameter: string): number {
  return Math.floor(readRequestTime(text, zone, parameter) / 1000);
}
