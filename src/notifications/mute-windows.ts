import { wallMs, type Zone } from "../../query/zone.js";
import type { MuteWindow } from "../../store/metadata/notifications/alert-routes.js";

/** Windows of one route. */
export const muteWindowsMax = 20;

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** `HH:MM` → milliseconds since midnight by the wall clock. */
function readClock(text: string): number {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return (hours * 60 + minutes) * minuteMs;
}

/**
 * When the windows that are open at `now` have all closed, milliseconds since 1970; null if none is open. Wall-clock
 * times of the zone: a window that loses or repeats an hour is that much shorter or longer.
 */
export function mutedUntil(windows: readonly MuteWindow[], zone: Zone, now: number): number | null {
  let until: number | null = null;
  // Windows may follow on each other, for a whole week at the most.
  for (let at = now; at < now + 8 * dayMs; ) {
    const end = closingAt(windows, zone, at);
    if (end === null) break;
    until = end;
    at = end;
  }
  return until;
}

/** The latest end of the windows that are open at an instant. */
function closingAt(windows: readonly MuteWindow[], zone: Zone, at: number): number | null {
  const { year, month, day } = zone.toWall(at);
  const today = wallMs({ year, month, day, hour: 0, minute: 0, second: 0 });
  let latest: number | null = null;
  for (const { days, from, to } of windows) {
    // One that began yesterday may reach into today.
    for (const midnight of [today - dayMs, today]) {
      const weekday = ((midnight / dayMs + 3) % 7) + 1;
      if (!days.includes(weekday)) continue;
      const begin = readClock(from);
      const end = readClock(to) + (readClock(to) <= begin ? dayMs : 0);
      const opens = zone.fromWall(midnight + begin);
      const closes = zone.fromWall(midnight + end);
      if (opens <= at && at < closes) latest = Math.max(latest ?? 0, closes);
    }
  }
  return latest;
}
