import { readRequestMs } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";
import { type NewSchedule, scheduleTypes } from "../../store/metadata/commands/schedules.js";
import { computeRulesFingerprint } from "../../store/time-zones/rules.js";
import { invalid } from "../http/errors.js";
import { nextTime, parseCron } from "./cron.js";

/** When a schedule is to run. */
interface RequestedTiming {
  readonly scheduleType: number;
  /** As requests write times; without an offset in the zone. */
  readonly crontabTime?: string | null | undefined;
  readonly IntervalMinute?: number | null | undefined;
  /** Five fields, in the zone. */
  readonly crontab?: string | null | undefined;
}

type Timing = Pick<
  NewSchedule,
  "scheduleType" | "crontabTime" | "IntervalMinute" | "crontab" | "nextAt" | "zoneRules"
>;

const minuteMs = 60_000;

/**
 * The columns that are stored; fields that its type does not use are left out. @throws ApiError
 * PARAMETER_INVALID
 */
export function resolveTiming(requested: RequestedTiming, zone: Zone, now: number): Timing {
  const { scheduleType } = requested;
  const unused = { scheduleType, crontabTime: null, IntervalMinute: null, crontab: null, zoneRules: null };
  if (scheduleType === scheduleTypes.once) {
    const crontabTime = readTime(requested.crontabTime, zone, now);
    return { ...unused, crontabTime, nextAt: crontabTime };
  }
  const { IntervalMinute = null, crontab = null } = requested;
  if (IntervalMinute !== null) {
    if (crontab !== null) throw invalid({ crontab: "must not stand beside IntervalMinute" });
    return { ...unused, IntervalMinute, nextAt: now + IntervalMinute * minuteMs };
  }
  if (crontab === null) throw invalid({ IntervalMinute: "must be there when scheduleType is 1" });
  const cron = parseCron(crontab);
  if (cron === null) throw invalid({ crontab: "must be a cron expression of five fields" });
  const nextAt = nextTime(cron, zone, now);
  if (nextAt === null) throw invalid({ crontab: "names no time of the next years" });
  return { ...unused, crontab, nextAt, zoneRules: computeRulesFingerprint(zone.rules) };
}

function readTime(text: string | null | undefined, zone: Zone, now: number): number {
  if (text == null) throw invalid({ crontabTime: "must be there when scheduleType is 0" });
  const time = readRequestMs(text, zone, "crontabTime");
  if (time <= now) throw invalid({ crontabTime: "is past" });
  return time;
}
