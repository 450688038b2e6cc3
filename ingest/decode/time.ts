import { microsOfDigits, microsOfNumber } from "../../store/lib/bare-time.js";
import { type LocalTime, readIsoTime } from "../../store/lib/iso-time.js";
import { isNumber } from "./exact-numbers.js";

export { type LocalTime, utcMicros } from "../../store/lib/iso-time.js";

/** Reads the times that devices and files of points have. Pure; a text without an offset is read by `local`. */

/**
 * Microseconds since 1970, or null when unreadable: a number or digits by their size (`store/lib/bare-time.ts`), or text
 * of ISO 8601 (`store/lib/iso-time.ts`).
 */
export function readTime(value: unknown, local: LocalTime): number | null {
  if (typeof value !== "string") return isNumber(value) ? microsOfNumber(value) : null;
  const text = value.trim();
  const micros = microsOfDigits(text);
  return micros === undefined ? readIsoTime(text, local) : micros;
}

/** 2000-01-01, microseconds since 1970: before it no bare number is the time of a point. */
export const bareTimeLeast = Date.UTC(2000, 0, 1) * 1000;

/** Why `readPointTime` gives null, for the sender of the time. */
export const unreadableTime = "must be ISO 8601, or a number that means a time from 2000-01-01 on";

/**
 * The time of a point. A bare number before 2000 is null: 188, 20251120 and 46027 are a counter, a date and a day of a
 * spreadsheet, and would become points of 1970. Text of ISO 8601 brings older ones.
 */
export function readPointTime(value: unknown, local: LocalTime): number | null {
  if (typeof value !== "string") return isNumber(value) ? fromLeast(microsOfNumber(value)) : null;
  const text = value.trim();
  const micros = microsOfDigits(text);
  return micros === undefined ? readIsoTime(text, local) : fromLeast(micros);
}

function fromLeast(micros: number | null): number | null {
  return micros !== null && micros >= bareTimeLeast ? micros : null;
}
