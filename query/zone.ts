import { StoreError } from "../store/lib/errors.js";
import { abbreviatedPlace, suggestZone } from "../store/time-zones/abbreviations.js";
import { timeZonesInUse } from "../store/time-zones/in-use.js";
import type { ZoneRules } from "../store/time-zones/rules.js";

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
  /** The rules of its offsets. */
  readonly rules: ZoneRules;
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

/**
 * The zone of an IANA name or of `±HH:MM`, by the rules that the process goes by.
 * @throws StoreError INVALID, naming the mend, for a name that is no time zone
 */
export function zone(name: string): Zone {
  const rules = timeZonesInUse().rules(name);
  if (rules !== undefined) return zoneBy(rules);
  const fault = `${name} ${suggestZone(name)}`;
  throw new StoreError("INVALID", `cannot use the time zone: ${fault}`, { timezone: fault });
}

/** Why a name is no time zone, with its mend; null: it is one. */
export function zoneFault(name: string): string | null {
  return timeZonesInUse().rules(name) === undefined ? `${name} ${suggestZone(name)}` : null;
}

/**
 * The zone that a stored record names. Abbreviations, which are refused today, keep the meaning that they had; a name
 * that is unknown, because other rules are used now, stands for UTC.
 */
export function storedZone(name: string): Zone {
  const zones = timeZonesInUse();
  return zoneBy(zones.rules(name) ?? zones.rules(abbreviatedPlace(name) ?? "UTC") ?? utc);
}

const utc: ZoneRules = { name: "UTC", changes: new Float64Array(), offsets: Int32Array.of(0) };
const dayMs = 86_400_000;
const made = new WeakMap<ZoneRules, Zone>();

function zoneBy(rules: ZoneRules): Zone {
  const known = made.get(rules) ?? createZone(rules);
  made.set(rules, known);
  return known;
}

function createZone(rules: ZoneRules): Zone {
  const { name, changes: seconds, offsets: secondsAhead } = rules;
  const changes = seconds.map((at) => at * 1000);
  const offsets = Float64Array.from(secondsAhead, (ahead) => ahead * 1000);
  /** Which offset held at the last instant: the next one asked for is most often near. */
  let held = 0;

  /** How many changes there are up to an instant, itself included. */
  function indexAt(utc: number): number {
    if ((held === 0 || utc >= at(held - 1)) && (held === changes.length || utc < at(held))) return held;
    let [low, high] = [0, changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (at(middle) <= utc) low = middle + 1;
      else high = middle;
    }
    held = low;
    return low;
  }
  const at = (index: number): number => changes[index] as number;
  const offsetAt = (utc: number): number => offsets[indexAt(utc)] as number;

  return {
    name,
    rules,
    offsetAt,
    nextChange: (utc, end) => {
      const index = indexAt(utc);
      return index < changes.length ? Math.min(at(index), end) : end;
    },
    toWall: (utc) => splitWallTime(utc + offsetAt(utc)),
    fromWall: (wall) => {
      const early = offsetAt(wall - dayMs);
      const late = offsetAt(wall + dayMs);
      for (const offset of early > late ? [early, late] : [late, early]) {
        if (offsetAt(wall - offset) === offset) {
          const other = wall - (offset === early ? late : early);
          // If two instants have this wall time, the earlier counts.
          return offsetAt(other) === wall - other ? Math.min(other, wall - offset) : wall - offset;
        }
      }
      // The time is missing: the offset before the gap carries it forward by the gap.
      return wall - early;
    },
  };
}

/** Wall-clock parts as milliseconds, read as if they were UTC; parts may overflow. */
export function wallMs(wall: WallTime): number {
  const date = new Date(0);
  date.setUTCFullYear(wall.year, wall.month - 1, wall.day);
  date.setUTCHours(wall.hour, wall.minute, wall.second);
  return date.getTime();
}

function splitWallTime(wall: number): WallTime {
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
