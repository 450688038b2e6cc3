/** Times that are written as text, by one reader for devices, files and queries. */

/** A wall-clock time, in milliseconds as if it were UTC → microseconds since 1970; null for one that is not known. */
export type LocalTime = (wallMs: number) => number | null;

/** The wall clock of UTC. */
export const utcMicros = (wallMs: number): number => wallMs * 1000;

const [zero, dash, plus, colon, dot, comma, space] = [0x30, 0x2d, 0x2b, 0x3a, 0x2e, 0x2c, 0x20];
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** The text that is being read, and where: reading never waits, so there is one at a time, and nothing is made for it. */
let text = "";
let at = 0;

/**
 * Microseconds since 1970 of a date and a time of ISO 8601, extended (`2026-11-20T10:00:00.25+08:00`) or basic
 * (`20261120T100000Z`); null for any other text. Seconds may be missing; decimals may be any number, and give the nearest
 * microsecond, of two the later; 24:00:00 is the next midnight. As RFC 3339 allows, a space may stand for the T of the
 * extended form, and t and z for T and Z. An offset is Z, ±HH, ±HHMM or ±HH:MM, perhaps after a space; a text without one
 * is read by `local`. There is no second 60. From 2^53 on the result is not exact.
 * @param spaceIsPlus an offset's plus may have become a space, as in a URL that does not escape it
 */
export function readIsoTime(written: string, local: LocalTime, spaceIsPlus = false): number | null {
  text = written;
  at = 0;
  const isExtended = text.charCodeAt(4) === dash;
  const date = readDate(isExtended);
  const clock = readClock(isExtended);
  const micros = readFraction();
  if (Number.isNaN(date + clock + micros) || (clock === dayMs && micros > 0)) return null;
  const wallMs = date + clock;
  if (at === text.length) {
    const instant = local(wallMs);
    return instant === null ? null : instant + micros;
  }
  const offset = readOffset(spaceIsPlus);
  return Number.isNaN(offset) || at < text.length ? null : utcMicros(wallMs - offset) + micros;
}

/** Milliseconds since 1970 at which the day begins; NaN for no day, as all that follow. */
function readDate(isExtended: boolean): number {
  const year = readDigits(4);
  if (isExtended) at++;
  const month = readDigits(2);
  if (isExtended && !skip(dash)) return Number.NaN;
  const day = readDigits(2);
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= countDays(year, month))) return Number.NaN;
  // Date.UTC takes the first hundred years for others; the calendar repeats itself after four hundred.
  return Date.UTC(year + 400, month - 1, day) - 146_097 * dayMs;
}

function countDays(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Milliseconds since midnight, with the T before them. */
function readClock(isExtended: boolean): number {
  const mark = text.charCodeAt(at++);
  if ((mark | 0x20) !== 0x74 && !(isExtended && mark === space)) return Number.NaN;
  const hour = readDigits(2);
  if (isExtended && !skip(colon)) return Number.NaN;
  const minute = readDigits(2);
  const hasSeconds = isExtended ? skip(colon) : isDigit();
  const second = hasSeconds ? readDigits(2) : 0;
  // Only seconds have decimals.
  if (!hasSeconds && (skip(dot) || skip(comma))) return Number.NaN;
  const isTime = hour <= 23 && minute <= 59 && second <= 59;
  if (!isTime && !(hour === 24 && minute === 0 && second === 0)) return Number.NaN;
  return hour * hourMs + minute * minuteMs + second * 1000;
}

/** Microseconds; 0 without decimals. */
function readFraction(): number {
  if (!skip(dot) && !skip(comma)) return 0;
  const from = at;
  let micros = 0;
  let size = 1_000_000;
  for (; isDigit(); at++) {
    const digit = text.charCodeAt(at) - zero;
    if (size > 1) {
      size /= 10;
      micros += digit * size;
    } else if (at === from + 6 && digit >= 5) micros++;
  }
  return at === from ? Number.NaN : micros;
}

/** Milliseconds that the wall clock is ahead of UTC. */
function readOffset(spaceIsPlus: boolean): number {
  const isSpaced = skip(space);
  const mark = text.charCodeAt(at);
  if ((mark | 0x20) === 0x7a) {
    at++;
    return 0;
  }
  if (mark === plus || mark === dash) at++;
  else if (!(isSpaced && spaceIsPlus)) return Number.NaN;
  const hours = readDigits(2);
  const minutes = skip(colon) || at < text.length ? readDigits(2) : 0;
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN;
  const size = hours * hourMs + minutes * minuteMs;
  return mark === dash ? -size : size;
}

function readDigits(count: number): number {
  let value = 0;
  for (const end = at + count; at < end; at++) {
    if (!isDigit()) return Number.NaN;
    value = value * 10 + text.charCodeAt(at) - zero;
  }
  return value;
}

function isDigit(): boolean {
  const digit = text.charCodeAt(at) - zero;
  return digit >= 0 && digit <= 9;
}

function skip(mark: number): boolean {
  const stands = text.charCodeAt(at) === mark;
  if (stands) at++;
  return stands;
}
