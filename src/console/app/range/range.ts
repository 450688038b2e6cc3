/** Ranges of time as the address has them: `-24h` to `now` stays relative, a date stays where it is. */
import { fromWallTime, toWallTime } from "../charts/zone.js";

interface Range {
  readonly start: string;
  readonly end: string;
}

/** Milliseconds since 1970. */
interface Span {
  readonly from: number;
  readonly to: number;
}

const units: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const pattern = /^-(\d{1,6})([smhdwMy])$/;

/** The time that a text means; null for none. Days, weeks, months and years go by the wall clock of the zone. */
function timeOfText(text: string, now: number, zone: string): number | null {
  if (text === "now") return now;
  if (text === "today") return fromWallTime(zone, midnight(toWallTime(zone, now)));
  const relative = pattern.exec(text);
  if (relative !== null) {
    const [, digits = "", unit = ""] = relative;
    const short = units[unit];
    return short === undefined ? byCalendar(zone, now, Number(digits), unit) : now - Number(digits) * short;
  }
  if (/^-?\d{5,15}$/.test(text)) return Number(text);
  const time = Date.parse(text);
  return Number.isFinite(time) ? time : null;
}

function midnight(wall: number): number {
  return Math.floor(wall / 86_400_000) * 86_400_000;
}

function byCalendar(zone: string, now: number, count: number, unit: string): number {
  const wall = new Date(toWallTime(zone, now));
  if (unit === "d" || unit === "w") wall.setUTCDate(wall.getUTCDate() - count * (unit === "w" ? 7 : 1));
  else {
    const day = wall.getUTCDate();
    wall.setUTCDate(1);
    wall.setUTCMonth(wall.getUTCMonth() - count * (unit === "y" ? 12 : 1));
    // A month later or earlier has the last of its own days.
    const last = new Date(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + 1, 0)).getUTCDate();
    wall.setUTCDate(Math.min(day, last));
  }
  return fromWallTime(zone, wall.getTime());
}

/** Null where one of the two means no time, or they are in the wrong order. */
export function resolveSpan({ start, end }: Range, now: number, zone: string): Span | null {
  const [from, to] = [timeOfText(start, now, zone), timeOfText(end, now, zone)];
  return from === null || to === null || from >= to ? null : { from, to };
}

/** The span moved by a share of itself; what was relative is fixed from then on. */
export function shifted({ from, to }: Span, by: number): Range {
  const move = Math.round((to - from) * by);
  return { start: String(Math.round(from + move)), end: String(Math.round(to + move)) };
}

interface Moved {
  readonly from?: number;
  readonly to?: number;
}

/** The span with another beginning or end; the other one moves along where they would be in the wrong order. */
export function withEnd({ from, to }: Span, moved: Moved): Span {
  const [start, end] = [moved.from ?? from, moved.to ?? to];
  if (start < end) return { from: start, to: end };
  const width = to - from;
  return moved.from === undefined ? { from: end - width, to: end } : { from: start, to: start + width };
}

export const presets: readonly Range[] = ["-1h", "-6h", "-24h", "-7d", "-30d", "-1y"].map((start) => ({
  start,
  end: "now",
}));
