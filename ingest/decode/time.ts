import { type Decimal, decimalOf, microsOfFraction, nearest } from "./rounding.js";

/** Reads the times that devices send. Pure; a text without an offset is read by `local`. */

/** Wall-clock time → microseconds since 1970, or null; from the deployment's time zone. */
export type LocalTime = (wall: WallTime) => number | null;

export interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

const textForm =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}:?\d{2})?$/;

/**
 * The nearest microsecond since 1970, of two the later, or null when unreadable. Numbers, also as digits: below 1e11
 * seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds; fractions kept. Text: ISO 8601 or
 * `YYYY-MM-DD HH:MM:SS`.
 */
export function readTime(value: unknown, local: LocalTime): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? fromNumber(value) : null;
  if (typeof value === "bigint") return fromDecimal({ digits: value, scale: 0 });
  if (typeof value !== "string") return null;
  const text = value.trim();
  const digits = decimalForm.exec(text);
  return digits === null ? fromText(text, local) : fromDigits(digits);
}

function fromNumber(value: number): number | null {
  const size = Math.abs(value);
  if (size >= 1e21) return null;
  if (!Number.isInteger(value) || size >= 1e17) return fromDecimal(decimalOf(value));
  const micros = size < 1e11 ? value * 1e6 : size < 1e14 ? value * 1e3 : value;
  return Math.abs(micros) < 2 ** 53 ? micros : null;
}

const decimalForm = /^(-?)(\d+)(?:\.(\d+))?$/;
/** Longer texts are not times. */
const digitsMax = 20;
/** Further digits could only break a tie. */
const decimalsMax = 18;

function fromDigits([, sign = "", digits = "", decimals = ""]: readonly string[]): number | null {
  const first = digits.search(/[1-9]/);
  const whole = first < 0 ? "0" : digits.slice(first);
  if (whole.length > digitsMax) return null;
  const rest = /[1-9]/.test(decimals.slice(decimalsMax)) ? "1" : "";
  const fraction = decimals.slice(0, decimalsMax) + rest;
  return fromDecimal({ digits: BigInt(sign + whole + fraction), scale: fraction.length });
}

function fromDecimal(decimal: Decimal): number | null {
  const whole = decimal.digits / 10n ** BigInt(decimal.scale);
  const size = whole < 0n ? -whole : whole;
  return nearest(decimal, size < 10n ** 11n ? 6 : size < 10n ** 14n ? 3 : size < 10n ** 17n ? 0 : -3);
}

function fromText(text: string, local: LocalTime): number | null {
  const match = textForm.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  const wall: WallTime = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second ?? 0),
  };
  if (!isReal(wall)) return null;
  const seconds = offset === undefined ? local(wall) : utcMicros(wall) - offsetMinutes(offset) * 60e6;
  return seconds === null ? null : seconds + microsOfFraction(fraction ?? "0");
}

function isReal(wall: WallTime): boolean {
  const daysInMonth = new Date(Date.UTC(wall.year, wall.month, 0)).getUTCDate();
  return (
    wall.month >= 1 &&
    wall.month <= 12 &&
    wall.day >= 1 &&
    wall.day <= daysInMonth &&
    wall.hour <= 23 &&
    wall.minute <= 59 &&
    wall.second <= 59
  );
}

/** The wall time read as UTC. */
export function utcMicros(wall: WallTime): number {
  const date = new Date(0);
  date.setUTCFullYear(wall.year, wall.month - 1, wall.day);
  date.setUTCHours(wall.hour, wall.minute, wall.second);
  return date.getTime() * 1000;
}

function offsetMinutes(text: string): number {
  if (text === "Z" || text === "z") return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return text.startsWith("-") ? -minutes : minutes;
}
