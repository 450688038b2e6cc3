/** Windows of time on the calendar of a zone. */
import { fromWallTime, toWallTime } from "../charts/zone.js";
import type { Unit } from "./state.js";

const dayMs = 86_400_000;

/** When the window that holds a time has begun. */
export function windowStart(zone: string, unit: Exclude<Unit, "real">, time: number): number {
  const wall = toWallTime(zone, time);
  if (unit === "minute" || unit === "hour") {
    // Within an hour the wall clock runs as time does, also in the doubled one.
    return time - (wall - Math.floor(wall / lengths[unit]) * lengths[unit]);
  }
  return fromWallTime(zone, startOfDay(new Date(wall), unit));
}

/** The begin of the window that goes on, if a range reaches it. */
export function unfinishedFrom(
  zone: string,
  unit: Exclude<Unit, "real">,
  { to }: { readonly to: number },
): number | null {
  const start = windowStart(zone, unit, Date.now());
  return to > start ? start : null;
}

const lengths = { minute: 60_000, hour: 3_600_000 } as const;

function startOfDay(wall: Date, unit: "day" | "week" | "month" | "year"): number {
  const day = Math.floor(wall.getTime() / dayMs) * dayMs;
  if (unit === "day") return day;
  // Weeks begin on Monday.
  if (unit === "week") return day - ((wall.getUTCDay() + 6) % 7) * dayMs;
  const start = new Date(day);
  start.setUTCDate(1);
  if (unit === "year") start.setUTCMonth(0);
  return start.getTime();
}
