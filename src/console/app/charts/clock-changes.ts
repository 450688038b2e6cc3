/** Where the wall clock of a zone is put forward or back. */
import { offsetOf } from "./zone.js";

interface ClockChange {
  /** Milliseconds since 1970, to the second. */
  readonly time: number;
  /** How far it is put forward. */
  readonly minutes: number;
}

const stepMs = 14 * 86_400_000;
/** On a longer axis they stand too close to be read. */
const longestMs = 400 * 86_400_000;
const rememberedMax = 50;

const known = new Map<string, readonly ClockChange[]>();

/** Within [from, to]; none of a range of more than 400 days. A chart that is drawn again asks for the same ones. */
export function clockChanges(zone: string, from: number, to: number): readonly ClockChange[] {
  if (to - from > longestMs || zone === "UTC") return [];
  const [first, last] = [Math.floor(from / stepMs), Math.ceil(to / stepMs)];
  const key = `${zone} ${first} ${last}`;
  let found = known.get(key);
  if (found === undefined) {
    found = between(zone, first, last);
    if (known.size >= rememberedMax) known.clear();
    known.set(key, found);
  }
  return found.filter(({ time }) => time >= from && time <= to);
}

function between(zone: string, first: number, last: number): ClockChange[] {
  const found: ClockChange[] = [];
  for (let i = first; i < last; i++) {
    let [low, high] = [i * stepMs, (i + 1) * stepMs];
    const [before, after] = [offsetOf(zone, low), offsetOf(zone, high)];
    if (before === after) continue;
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (offsetOf(zone, middle) === before) low = middle;
      else high = middle;
    }
    found.push({ time: high, minutes: (after - before) / 60_000 });
  }
  return found;
}
