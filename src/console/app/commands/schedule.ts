/** When a schedule runs, as it is typed, and the fields that it means. */
import { fromWallTime, wallText } from "../charts/zone.js";

/** Whom a schedule is for, as the API has it. */
export const publishTypes = { device: 0, group: 1 } as const;

export const timings = ["once", "every", "cron"] as const;

export interface TypedTiming {
  readonly kind: (typeof timings)[number];
  /** As the browser gives it, `2026-11-24T14:30`, by the wall clock of the zone. */
  readonly at: string;
  readonly zone: string;
  readonly minutes: string;
  readonly cron: string;
}

/** The moment by the wall clock of the service's zone, which the API takes; empty if none is typed. */
export function ownTime({ at, zone }: TypedTiming, ownZone: string): string {
  const wall = Date.parse(`${at}Z`);
  return Number.isFinite(wall) ? wallText(ownZone, fromWallTime(zone, wall)) : "";
}

export function timingBody(timing: TypedTiming, ownZone: string) {
  switch (timing.kind) {
    case "once":
      return { scheduleType: 0, crontabTime: ownTime(timing, ownZone) };
    case "every":
      return { scheduleType: 1, IntervalMinute: timing.minutes.trim() };
    case "cron":
      return { scheduleType: 1, crontab: timing.cron.trim() };
  }
}

export function isTimed({ kind, at, minutes, cron }: TypedTiming): boolean {
  return { once: at, every: minutes, cron }[kind].trim() !== "";
}
