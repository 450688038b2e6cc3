/** Wall clocks of time zones, for axes, tables and pickers. Times are milliseconds since 1970. */

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(zone: string): Intl.DateTimeFormat {
  let found = formatters.get(zone);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "iso8601",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      era: "short",
    });
    formatters.set(zone, found);
  }
  return found;
}

export function isZone(zone: string): boolean {
  try {
    formatterOf(zone);
    return true;
  } catch {
    return false;
  }
}

const minuteMs = 60_000;
/** Since then every clock has been moved at whole minutes, by whole minutes. */
const wholeMinutesSince = Date.UTC(1973, 0, 1);
/** By zone and minute: a chart that moves asks for the same ones with every frame. */
const offsets = new Map<string, Map<number, number>>();
const offsetsMax = 10_000;

/** What the wall clock of the zone shows at a time, as if it were UTC. */
export function wallOf(zone: string, time: number): number {
  if (!(time >= wholeMinutesSince)) return computedWall(zone, time);
  let known = offsets.get(zone);
  if (known === undefined || known.size >= offsetsMax) {
    known = new Map();
    offsets.set(zone, known);
  }
  const minute = Math.floor(time / minuteMs);
  let offset = known.get(minute);
  if (offset === undefined) {
    offset = computedWall(zone, minute * minuteMs) - minute * minuteMs;
    known.set(minute, offset);
  }
  return time + offset;
}

function computedWall(zone: string, time: number): number {
  const second = Math.floor(time / 1000) * 1000;
  const parts = new Map(
    formatterOf(zone)
      .formatToParts(second)
      .map(({ type, value }) => [type, value]),
  );
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const year = parts.get("era")?.startsWith("B") === true ? 1 - number("year") : number("year");
  const wall = new Date(0);
  wall.setUTCFullYear(year, number("month") - 1, number("day"));
  wall.setUTCHours(number("hour"), number("minute"), number("second"));
  return wall.getTime() + (time - second);
}

/** How far the wall clock is ahead of UTC. */
export const offsetOf = (zone: string, time: number): number => wallOf(zone, time) - time;

const dayMs = 86_400_000;

/**
 * The time at which the wall clock shows this. One that it shows twice means the first, one that it never shows is moved
 * forward by the gap, as the API has it.
 */
export function timeOf(zone: string, wall: number): number {
  const [before, after] = [offsetOf(zone, wall - dayMs), offsetOf(zone, wall + dayMs)];
  const early = wall - before;
  if (wallOf(zone, early) === wall) return early;
  const late = wall - after;
  return wallOf(zone, late) === wall ? late : early;
}

/** `+08:00`. */
export function offsetText(zone: string, time: number): string {
  const minutes = Math.round(offsetOf(zone, time) / 60_000);
  const digits = (n: number): string => String(Math.abs(Math.trunc(n))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${digits(minutes / 60)}:${digits(minutes % 60)}`;
}

/** `2026-11-24 14:30:00`, with as many digits of the second as the time has. */
export function wallText(zone: string, time: number): string {
  const text = new Date(wallOf(zone, time)).toISOString();
  const [day = "", clock = ""] = text.replace(/\.000Z$|Z$/, "").split("T");
  return `${day} ${clock}`;
}
