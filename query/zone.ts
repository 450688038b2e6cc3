import { StoreError } from "../store/errors.js";

/** Wall-clock parts; month 1–12. */
export interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** A time zone of the IANA database. Instants are milliseconds since 1970 (UTC). */
export interface Zone {
  readonly name: string;
  /** Milliseconds that the zone is ahead of UTC at an instant. */
  offsetAt(utc: number): number;
  /** The wall clock at an instant. */
  toWall(utc: number): WallTime;
  /**
   * The instant of a wall-clock time: the first of a doubled one; a missing one moves forward by the gap (the
   * "compatible" disambiguation of Temporal). `wall` is the time read as if it were UTC.
   */
  fromWall(wall: number): number;
  /** The first instant after `utc` and before `end` at which the offset changes, or `end`. */
  nextChange(utc: number, end: number): number;
}

const zones = new Map<string, Zone>();
const zonesMax = 1000;

/** @throws StoreError INVALID for a name that is no time zone */
export function zone(name: string): Zone {
  let found = zones.get(name);
  if (found === undefined) {
    found = createZone(name);
    if (zones.size >= zonesMax) zones.clear();
    zones.set(name, found);
  }
  return found;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Offsets are remembered for spans that begin and end with the same one, within which none has changed. */
const spanMs = 8 * dayMs;
const spansMax = 4096;

function createZone(name: string): Zone {
  const format = formatter(name);
  const spans = new Map<number, number | null>();

  /** Asks the time zone database; several microseconds. */
  function ask(utc: number): number {
    const second = Math.floor(utc / 1000) * 1000;
    return readWall(format, second) - second;
  }

  /** The offset of a whole span, or null when it changes within. */
  function offsetOfSpan(span: number): number | null {
    let offset = spans.get(span);
    if (offset === undefined) {
      const start = span * spanMs;
      const first = ask(start);
      // Zones change their offset at most every few weeks, so days are close enough to look.
      let constant = true;
      for (let at = start + dayMs; at <= start + spanMs && constant; at += dayMs)
        constant = ask(at) === first;
      offset = constant ? first : null;
      if (spans.size >= spansMax) spans.clear();
      spans.set(span, offset);
    }
    return offset;
  }

  const exact = new Map<number, number>();
  function offsetAt(utc: number): number {
    const whole = offsetOfSpan(Math.floor(utc / spanMs));
    if (whole !== null) return whole;
    // Within a span of change, minutes decide.
    const minute = Math.floor(utc / 60_000);
    let offset = exact.get(minute);
    if (offset === undefined) {
      offset = ask(utc);
      if (ask(minute * 60_000) !== offset || ask(minute * 60_000 + 59_000) !== offset) return offset;
      if (exact.size >= spansMax * 4) exact.clear();
      exact.set(minute, offset);
    }
    return offset;
  }

  function nextChange(utc: number, end: number): number {
    const before = offsetAt(utc);
    let low = utc;
    while (low < end) {
      const span = Math.floor(low / spanMs);
      const high = Math.min((span + 1) * spanMs, end);
      if (offsetOfSpan(span) !== before) {
        const found = changeWithin(offsetAt, low, high, before);
        if (found !== null) return found;
      }
      low = high;
    }
    return end;
  }

  return {
    name,
    offsetAt,
    nextChange,
    toWall: (utc) => partsOf(utc + offsetAt(utc)),
    fromWall: (wall) => {
      const early = offsetAt(wall - dayMs);
      const late = offsetAt(wall + dayMs);
      for (const offset of early > late ? [early, late] : [late, early]) {
        if (offsetAt(wall - offset) === offset) {
          const other = wall - (offset === early ? late : early);
          // Of two instants with this wall time the earlier one counts.
          return offsetAt(other) === wall - other ? Math.min(other, wall - offset) : wall - offset;
        }
      }
      // Missing: the offset before the gap carries it forward by the gap.
      return wall - early;
    },
  };
}

/** The change of offset in (low, high], to the second; null when there is none. */
function changeWithin(
  offsetAt: (utc: number) => number,
  low: number,
  high: number,
  before: number,
): number | null {
  let same = low;
  let changed: number | null = null;
  for (let at = Math.min(low + hourMs, high); changed === null; at = Math.min(at + hourMs, high)) {
    if (offsetAt(at) !== before) changed = at;
    else same = at;
    if (at === high) break;
  }
  if (changed === null) return null;
  while (changed - same > 1000) {
    const middle: number = same + Math.floor((changed - same) / 2000) * 1000;
    if (offsetAt(middle) === before) same = middle;
    else changed = middle;
  }
  return Math.floor(changed / 1000) * 1000;
}

function formatter(name: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    throw new StoreError("INVALID", `cannot use the time zone: ${name} is not one`, {
      timezone: "must be an IANA time zone",
    });
  }
}

/** The wall clock at an instant, read as if it were UTC. */
function readWall(format: Intl.DateTimeFormat, utc: number): number {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of format.formatToParts(utc)) parts[type] = value;
  const year = parts.era === "BC" ? 1 - Number(parts.year) : Number(parts.year);
  return wallMs({
    year,
    month: Number(parts.month),
    day: Number(parts.day),
    hour: Number(parts.hour),
    minute: Number(parts.minute),
    second: Number(parts.second),
  });
}

/** Wall-clock parts as milliseconds, read as if they were UTC; parts may overflow. */
export function wallMs(wall: WallTime): number {
  const date = new Date(0);
  date.setUTCFullYear(wall.year, wall.month - 1, wall.day);
  date.setUTCHours(wall.hour, wall.minute, wall.second);
  return date.getTime();
}

function partsOf(wall: number): WallTime {
  const date = new Date(wall);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}
