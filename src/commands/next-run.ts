import type { Zone } from "../../query/zone.js";
import type { NextRun, OtherwisePlanned, Repeated } from "../../store/metadata/commands/due-schedules.js";
import { scheduleTypes } from "../../store/metadata/commands/schedules.js";
import { computeRulesFingerprint } from "../../store/time-zones/rules.js";
import { nextTime, parseCron } from "./cron.js";

const minuteMs = 60_000;

/** When schedules run next, in the deployment's zone. Times in milliseconds since 1970. */
interface NextRuns {
  /** Which rules the times follow from. */
  readonly zoneRules: string;
  /** The first time after `now` of a schedule that is due. */
  after(due: Repeated, now: number): NextRun;
  /** The next time of a schedule that was planned by other rules of the zone. */
  anew(planned: OtherwisePlanned, now: number): { readonly next: NextRun; readonly hasMissed: boolean };
}

export function createNextRuns(zone: Zone): NextRuns {
  const zoneRules = computeRulesFingerprint(zone.rules);
  const cronTime = createCronTimes(zone);

  return {
    zoneRules,
    after: ({ scheduleType, IntervalMinute, crontab, nextAt }, now) => {
      if (scheduleType !== scheduleTypes.repeated) return unplanned(null);
      if (IntervalMinute !== null) {
        const interval = IntervalMinute * minuteMs;
        return unplanned(nextAt + Math.max(1, Math.floor((now - nextAt) / interval) + 1) * interval);
      }
      if (crontab === null) return unplanned(null);
      const ranWall = nextAt + zone.offsetAt(nextAt);
      return { nextAt: cronTime(crontab, Math.max(now, nextAt)), ranWall, zoneRules };
    },
    anew: (planned, now) => {
      const { crontab, ranWall, nextAt } = planned;
      const since = plannedSince(planned, zone, now);
      // A run by the clock of the old rules is not repeated where the new rules show its time again.
      const first = cronTime(crontab, since);
      const isPast = first !== null && first <= now;
      const next = isPast ? cronTime(crontab, now) : first;
      return { next: { nextAt: next, ranWall, zoneRules }, hasMissed: isPast || nextAt <= now };
    },
  };
}

const unplanned = (nextAt: number | null): NextRun => ({ nextAt, ranWall: null, zoneRules: null });

/** From when on a schedule has not run, by the clock of the zone as it is now. */
function plannedSince({ ranWall, zoneRules, createAt }: OtherwisePlanned, zone: Zone, now: number): number {
  if (ranWall !== null) return zone.fromWall(ranWall);
  return zoneRules === null ? now : createAt;
}

const knownMax = 1000;

/** Caches cron times, because schedules that are read together mostly share their expression. */
function createCronTimes(zone: Zone): (crontab: string, after: number) => number | null {
  const known = new Map<string, number | null>();
  return (crontab, after) => {
    const key = `${after} ${crontab}`;
    let next = known.get(key);
    if (next === undefined) {
      const cron = parseCron(crontab);
      next = cron === null ? null : nextTime(cron, zone, after);
      if (known.size >= knownMax) known.clear();
      known.set(key, next);
    }
    return next;
  };
}
