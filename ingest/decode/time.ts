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
  readonly microsecond: number;
}

const textForm =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}:?\d{2})?$/;

/**
 * Microseconds since 1970, rounded, or null when unreadable. Numbers, also as digits: below 1e11 seconds, below
 * 1e14 milliseconds, below 1e17 microseconds, else nanoseconds; fractions kept. Text: ISO 8601 or
 * `YYYY-MM-DD HH:MM:SS`.
 */
export function readTime(value: unknown, local: LocalTime): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? fromNumber(value) : null;
  if (typeof value !== "string") return null;
  const text = value.trim();
  if (/^-?\d{17,19}$/.test(text)) return fromDigits(text);
  if (/^-?\d+(\.\d+)?$/.test(text)) return fromNumber(Number(text));
  return fromText(text, local);
}

function fromNumber(value: number): number | null {
  const size = Math.abs(value);
  const micros = size < 1e11 ? value * 1e6 : size < 1e14 ? value * 1e3 : size < 1e17 ? value : value / 1e3;
  return Math.abs(micros) < 2 ** 53 ? Math.round(micros) : null;
}

/** Long digits are exact only as whole numbers. */
function fromDigits(text: string): number | null {
  const value = BigInt(text);
  const size = value < 0n ? -value : value;
  const micros = size < 100_000_000_000_000_000n ? value : value / 1000n;
  return micros < 2n ** 53n && micros > -(2n ** 53n) ? Number(micros) : null;
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
    microsecond: Math.round(Number(`0.${fraction ?? 0}`) * 1e6),
  };
  if (!isReal(wall)) return null;
  if (offset === undefined) return local(wall);
  return utcMicros(wall) - offsetMinutes(offset) * 60e6;
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
  return date.getTime() * 1000 + wall.microsecond;
}

function offsetMinutes(text: string): number {
  if (text === "Z" || text === "z") return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return text.startsWith("-") ? -minutes : minutes;
}
