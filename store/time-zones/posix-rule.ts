import type { Transition } from "./rules.js";

/** The rule by which a zone goes on for ever, as POSIX writes it in TZ (RFC 9636, section 3.3.1). Seconds. */
interface PosixRule {
  /** Ahead of UTC. */
  readonly standard: number;
  /** Null: the zone keeps its standard time. */
  readonly summer: {
    readonly offset: number;
    readonly begin: YearlyTime;
    readonly end: YearlyTime;
  } | null;
}

interface YearlyTime {
  readonly day: (year: number) => number;
  /** From the day's midnight on the clock until then; may be negative, or beyond a day. */
  readonly time: number;
}

const offsetsForm = /^(?:<[^>]+>|[A-Za-z]+)([-+\d:]+)(?:(?:<[^>]+>|[A-Za-z]+)([-+\d:]+)?)?$/;
const dateForm = /^(?:M\d{1,2}\.\d\.\d|J?\d{1,3})(?:\/[-+]?\d[\d:]*)?$/;

/** Undefined for a text that is no such rule. */
export function readPosixRule(text: string): PosixRule | undefined {
  const [offsets = "", ...dates] = text.split(",");
  const [, behind, summerBehind] = offsetsForm.exec(offsets) ?? [];
  if (behind === undefined) return undefined;
  const standard = -readClock(behind);
  if (dates.length === 0) return { standard, summer: null };
  const [begin = "", end = "", ...more] = dates;
  if (!dateForm.test(begin) || !dateForm.test(end) || more.length > 0) return undefined;
  const offset = summerBehind === undefined ? standard + 3600 : -readClock(summerBehind);
  return { standard, summer: { offset, begin: readDate(begin), end: readDate(end) } };
}

function readClock(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, "").split(":").map(Number);
  const value = hours * 3600 + minutes * 60 + seconds;
  return text.startsWith("-") ? -value : value;
}

function readDate(text: string): YearlyTime {
  const [day = "", time = "2"] = text.split("/");
  return { day: readDay(day), time: readClock(time) };
}

/** Year → seconds since 1970 of the day's midnight, as if the clock were UTC. */
function readDay(text: string): YearlyTime["day"] {
  if (text.startsWith("M")) {
    const [month = 1, week = 1, weekday = 0] = text.slice(1).split(".").map(Number);
    return (year) => {
      const first = new Date(Date.UTC(year, month - 1, 1)).getUTCDay();
      const date = 1 + ((weekday - first + 7) % 7) + (week - 1) * 7;
      const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
      // The fifth week is the month's last.
      return Date.UTC(year, month - 1, date > days ? date - 7 : date) / 1000;
    };
  }
  // Jn leaves out the 29th of February; n counts it, from 0.
  if (!text.startsWith("J")) return (year) => Date.UTC(year, 0, 1 + Number(text)) / 1000;
  const nth = Number(text.slice(1));
  return (year) => Date.UTC(year, 0, nth + (nth >= 60 && isLeap(year) ? 1 : 0)) / 1000;
}

const isLeap = (year: number): boolean => new Date(Date.UTC(year, 2, 0)).getUTCDate() === 29;

/** What the rule gives after an instant, to the end of a year. Ascending. */
export function posixTransitions({ standard, summer }: PosixRule, after: number, last: number): Transition[] {
  // The zone already has this offset.
  if (summer === null) return [];
  const found: Transition[] = [];
  const from = Number.isFinite(after) ? new Date(after * 1000).getUTCFullYear() - 1 : 1970;
  for (let year = from; year <= last; year++) {
    const begin = { at: summer.begin.day(year) + summer.begin.time - standard, offset: summer.offset };
    const end = { at: summer.end.day(year) + summer.end.time - summer.offset, offset: standard };
    found.push(begin, end);
  }
  // Where the clock goes forward as it goes back, which keeps summer time all year, the later entry holds.
  return found.sort((a, b) => a.at - b.at).filter(({ at }) => at > after);
}
