import { StoreError } from "../store/lib/errors.js";

/** Wall-clock parts; month 1–12. */
interface WallTime {
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
   * The instant of a wall-clock time: the first of a repeated one; a missing one moves forward by the gap (the
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

const dayMs = 86_400_000;
/** No zone of the database has two changes within seven days, so a block has at most one. */
const blockMs = 4 * dayMs;
const blocksMax = 4096;

/** Offsets of one block: `before` until `change`, `after` from then on. */
interface Block {
  readonly before: number;
  readonly change: number;
  readonly after: number;
}

function createZone(name: string): Zone {
  const format = formatter(name);
  const blocks = new Map<number, Block>();

  /** Asks the time zone database, which takes several microseconds. */
  function ask(utc: number): number {
    const second = Math.floor(utc / 1000) * 1000;
    return readWall(format, second) - second;
  }

  function blockAt(utc: number): Block {
    const number = Math.floor(utc / blockMs);
    let block = blocks.get(number);
    if (block === undefined) {
      if (blocks.size >= blocksMax) blocks.clear();
      block = readBlock(ask, number * blockMs);
      blocks.set(number, block);
    }
    return block;
  }

  function offsetAt(utc: number): number {
    const block = blockAt(utc);
    return utc < block.change ? block.before : block.after;
  }

  function nextChange(utc: number, end: number): number {
    for (let at = utc; at < end; at = (Math.floor(at / blockMs) + 1) * blockMs) {
      const { change } = blockAt(at);
      if (change > utc && change !== Number.POSITIVE_INFINITY) return Math.min(change, end);
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
          // Of two instants with this wall time the earlier counts.
          return offsetAt(other) === wall - other ? Math.min(other, wall - offset) : wall - offset;
        }
      }
      // The time is missing: the offset before the gap carries it forward by the gap.
      return wall - early;
    },
  };
}

/** Finds the change of a block to the second; if there is none, it is at infinity. */
function readBlock(ask: (utc: number) => number, start: number): Block {
  const before = ask(start);
  const after = ask(start + blockMs);
  if (before === after) return { before, change: Number.POSITIVE_INFINITY, after };
  let same = start;
  let change = start + blockMs;
  while (change - same > 1000) {
    const middle = same + Math.floor((change - same) / 2000) * 1000;
    if (ask(middle) === before) same = middle;
    else change = middle;
  }
  return { before, change, after };
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
