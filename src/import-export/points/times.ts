/** Times of history files, fast both ways; microseconds since 1970. */
import { zone } from "../../../query/zone.js";
import type { TimeStyle } from "./export-messages.js";

const zero = 48;
const dayMicros = 86_400_000_000;
const notHere = Number.NaN;

/**
 * Reads `YYYY-MM-DDTHH:MM:SS[.f…]Z` with up to six decimals, as exports write it; NaN for any other text, which may
 * still be a valid time. Remembers the day, because successive rows mostly share it.
 */
export function createTimeReader(): (bytes: Uint8Array, start: number, end: number) => number {
  let dayDigits = -1;
  let dayStart = 0;
  let at = 0;

  return (bytes, start, end) => {
    const length = end - start;
    if (length < 20 || length > 27 || bytes[end - 1] !== 90 || bytes[start + 10] !== 84) return notHere;
    if (bytes[start + 4] !== 45 || bytes[start + 7] !== 45) return notHere;
    if (bytes[start + 13] !== 58 || bytes[start + 16] !== 58) return notHere;
    let wrong = false;
    const digits = (from: number, count: number): number => {
      let value = 0;
      for (at = from; at < from + count; at++) {
        const digit = (bytes[at] as number) - zero;
        if (digit < 0 || digit > 9) wrong = true;
        value = value * 10 + digit;
      }
      return value;
    };
    const year = digits(start, 4);
    const month = digits(start + 5, 2);
    const day = digits(start + 8, 2);
    const hour = digits(start + 11, 2);
    const minute = digits(start + 14, 2);
    const second = digits(start + 17, 2);
    if (wrong || hour > 23 || minute > 59 || second > 59) return notHere;
    const date = (year * 100 + month) * 100 + day;
    if (date !== dayDigits) {
      const found = Date.UTC(year, month - 1, day);
      const back = new Date(found);
      if (year < 100 || back.getUTCMonth() !== month - 1 || back.getUTCDate() !== day) return notHere;
      dayDigits = date;
      dayStart = found * 1000;
    }
    let micros = 0;
    if (length > 20) {
      if (bytes[start + 19] !== 46 || length === 21) return notHere;
      micros = digits(start + 20, length - 21) * (powers[27 - length] as number);
      if (wrong) return notHere;
    }
    return dayStart + ((hour * 60 + minute) * 60 + second) * 1e6 + micros;
  };
}

const powers = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

/** All times of a column have the same form: readers such as pandas assume the form of the first row for all. */
export function createTimeWriter(style: TimeStyle): (micros: number) => string {
  if (style === "ms") return millisText;
  const wallText = createWallWriter();
  if (style === "utc") return (micros) => `${wallText(micros)}Z`;
  const place = zone(style.timezone);
  return (micros) => {
    // RFC 3339 has no seconds in an offset, as zones had before they had laws: the instant is still right.
    const minutes = Math.trunc(place.offsetAt(Math.floor(micros / 1000)) / 60_000);
    return wallText(micros + minutes * 60e6) + offsetText(minutes);
  };
}

/** Every digit of the microseconds, which a division loses beyond the year 2109. */
function millisText(micros: number): string {
  const size = Math.abs(micros);
  const rest = size % 1000;
  const whole = `${micros < 0 ? "-" : ""}${(size - rest) / 1000}`;
  return rest === 0 ? whole : `${whole}.${String(rest).padStart(3, "0")}`;
}

function offsetText(minutes: number): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** `YYYY-MM-DDTHH:MM:SS.ffffff` of microseconds on a wall clock. */
function createWallWriter(): (micros: number) => string {
  let day = Number.NaN;
  let date = "";
  return (micros) => {
    const now = Math.floor(micros / dayMicros);
    if (now !== day) {
      day = now;
      date = new Date(day * (dayMicros / 1000)).toISOString().slice(0, 11);
    }
    const rest = micros - day * dayMicros;
    const seconds = Math.floor(rest / 1e6);
    const fraction = rest - seconds * 1e6;
    const minutes = Math.floor(seconds / 60);
    const clock = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}`;
    return `${date}${clock}.${String(fraction).padStart(6, "0")}`;
  };
}

const pairs = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));
const two = (n: number): string => pairs[n] as string;
