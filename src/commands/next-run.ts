import type { Zone } from "../../query/zone.js";
import type { Repeated } from "../../store/metadata/commands/due-schedules.js";
import { scheduleTypes } from "../../store/metadata/commands/schedules.js";
import { nextTime, parseCron } from "./cron.js";

const minuteMs = 60_000;

/** When a schedule that is due runs again: its first time after `now`, or null for never. */
function nextRun(due: Omit<Repeated, "scheduleIntID">, zone: Zone, now: number): number | null {
  const { scheduleType, IntervalMinute, crontab, nextAt } = due;
  if (scheduleType !== scheduleTypes.repeated) return null;
  if (IntervalMinute !== null) {
    const interval = IntervalMinute * minuteMs;
    return nextAt + Math.max(1, Math.floor((now - nextAt) / interval) + 1) * interval;
  }
  const cron = crontab === null ? null : parseCron(crontab);
  return cron === null ? null : nextTime(cron, zone, Math.max(now, nextAt));
}

/** Of many schedules that are due together, most share their expression. */
export function createNextRuns(zone: Zone): (due: Repeated, now: number) => number | null {
  let known = new Map<string, number | null>();
  let knownAt = Number.NaN;
  return (due, now) => {
    if (due.crontab === null) return nextRun(due, zone, now);
    const after = Math.max(now, due.nextAt);
    if (after !== knownAt) known = new Map();
    knownAt = after;
    let next = known.get(due.crontab);
    if (next === undefined) {
      next = nextRun(due, zone, now);
      known.set(due.crontab, next);
    }
    return next;
  };
}
