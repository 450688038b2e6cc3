import { readRequestTime } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";

/** The times of a dashboard, which are relative to now or instants. Milliseconds since 1970. Pure. */

const spanMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/**
 * `now`, `today` (its begin in the zone), a span before now such as `-24h`, or what requests take as a time. A day is 24
 * hours, a year 365 days. @throws StoreError INVALID naming the field
 */
export function readDashboardTime(text: string, place: Zone, now: number, field: string): number {
  if (text === "now") return now;
  if (text === "today") {
    const { year, month, day } = place.toWall(now);
    return place.fromWall(Date.UTC(year, month - 1, day));
  }
  const [, count, unit = ""] = /^-(\d{1,5})([mhdwy])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (spanMs[unit] ?? 0);
  return readRequestTime(text, place, field) / 1000;
}
