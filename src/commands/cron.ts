import { wallMs, type Zone } from "../../query/zone.js";

/** A cron expression: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). */
interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** The hour field begins with `*`: it runs by elapsed time, even through a repeated or skipped hour. */
  readonly anyHour: boolean;
  /** Both day fields are restricted: a day that fits either counts, as in every cron. */
  readonly eitherDay: boolean;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const minute: Field = { min: 0, max: 59, names: [] };
const hour: Field = { min: 0, max: 23, names: [] };
const day: Field = { min: 1, max: 31, names: [] };
const month: Field = { min: 1, max: 12, names: monthNames };
const weekday: Field = { min: 0, max: 7, names: weekdayNames };

export const cronLengthMax = 255;

/** Null when the text is not a cron expression of five fields. */
export function parseCron(text: string): Cron | null {
  if (text.length > cronLengthMax) return null;
  const fields = text.trim().toLowerCase().split(/\s+/);
  const [minutesText = "", hoursText = "", daysText = "", monthsText = "", weekdaysText = ""] = fields;
  const minutes = parseField(minutesText, minute);
  const hours = parseField(hoursText, hour);
  const days = parseField(daysText, day);
  const months = parseField(monthsText, month);
  const found = parseField(weekdaysText, weekday);
  if (fields.length !== 5 || !minutes || !hours || !days || !months || !found) return null;
  const weekdays = new Set([...found].map((value) => value % 7));
  const restricted = (field: string): boolean => !field.startsWith("*");
  const eitherDay = restricted(daysText) && restricted(weekdaysText);
  return { minutes, hours, days, months, weekdays, eitherDay, anyHour: !restricted(hoursText) };
}

function parseField(text: string, field: Field): Set<number> | null {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,2}))?$/.exec(part);
    if (match === null) return null;
    const [, all, firstText = "", lastText, stepText] = match;
    const step = stepText === undefined ? 1 : Number(stepText);
    const first = all === undefined ? parseNumber(firstText, field) : field.min;
    // `5/15` continues to the field's end, as `5-59/15` does.
    const open = all !== undefined || (lastText === undefined && stepText !== undefined);
    const last = open ? field.max : parseNumber(lastText ?? firstText, field);
    if (first === null || last === null || first > last || step === 0) return null;
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return values;
}

function parseNumber(text: string, { min, max, names }: Field): number | null {
  const named = names.indexOf(text);
  if (named >= 0) return named + min;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : null;
}

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** A 29th of February may lie eight years ahead. */
const daysAhead = 8 * 366 + 1;

/**
 * The first time after `after` (milliseconds since 1970) that the expression names in the zone; null when
 * there is none. A fixed hour that is skipped moves forward by the gap; of a repeated one the first counts.
 */
export function nextTime(cron: Cron, zone: Zone, after: number): number | null {
  const today = wallMs({ ...zone.toWall(after), hour: 0, minute: 0, second: 0 });
  for (let ahead = 0; ahead < daysAhead; ahead++) {
    const midnight = today + ahead * dayMs;
    if (!isDay(cron, new Date(midnight))) continue;
    const next = cron.anyHour
      ? elapsedTime(cron, zone, midnight, after)
      : fixedTimes(cron, zone, midnight).find((time) => time > after);
    if (next !== undefined) return next;
  }
  return null;
}

/** `wall` is a wall-clock day read as if it were UTC. */
function isDay({ months, days, weekdays, eitherDay }: Cron, wall: Date): boolean {
  if (!months.has(wall.getUTCMonth() + 1)) return false;
  const [byDay, byWeekday] = [days.has(wall.getUTCDate()), weekdays.has(wall.getUTCDay())];
  return eitherDay ? byDay || byWeekday : byDay && byWeekday;
}

function fixedTimes({ hours, minutes }: Cron, zone: Zone, midnight: number): number[] {
  const times = [...hours].flatMap((h) =>
    [...minutes].map((m) => zone.fromWall(midnight + (h * 60 + m) * minuteMs)),
  );
  return times.sort((a, b) => a - b);
}

/** The first time of the day after `after`. */
function elapsedTime(
  { hours, minutes }: Cron,
  zone: Zone,
  midnight: number,
  after: number,
): number | undefined {
  const end = zone.fromWall(midnight + dayMs);
  const passed = Math.floor(after / minuteMs) * minuteMs + minuteMs;
  for (let time = Math.max(zone.fromWall(midnight), passed); time < end; time += minuteMs) {
    const wall = zone.toWall(time);
    if (hours.has(wall.hour) && minutes.has(wall.minute)) return time;
  }
  return undefined;
}
