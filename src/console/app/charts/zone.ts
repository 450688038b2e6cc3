/**
 * Wall clocks of time zones, for axes, tables and pickers, by the rules that the service has: a browser's own may be older.
 * Times are milliseconds since 1970.
 */
import { signal } from "@preact/signals";

/** A zone as the API shows it: how many seconds it is ahead of UTC, at first and from each change on. */
export interface ShownZone {
  readonly offset: number;
  readonly changes: readonly { readonly time: number; readonly offset: number }[];
}

/** Those that are known by their names; null: asked for, or none. */
const known = new Map<string, ShownZone | null>([["UTC", { offset: 0, changes: [] }]]);
/** One more with each that has come, so that what is drawn is drawn again. */
const learned = signal(0);

export function learnZone(name: string, zone: ShownZone): void {
  if (known.get(name)) return;
  known.set(name, zone);
  learned.value++;
}

/** Rejects if no answer comes; resolves to null for a name that is no zone. */
type ReadZone = (name: string) => Promise<ShownZone | null>;
let readZone: ReadZone = async () => null;

/** Where rules come from. */
export function readZonesBy(read: ReadZone): void {
  readZone = read;
}

/** Asks for the rules of a zone; false: there is no such one. Rejects if no answer comes. */
export async function loadZone(name: string): Promise<boolean> {
  if (known.get(name)) return true;
  known.set(name, null);
  try {
    const found = await readZone(name);
    if (found !== null) learnZone(name, found);
    return found !== null;
  } catch (error) {
    known.delete(name);
    throw error;
  }
}

/** Whether its rules are here. If they are not they are asked for, and what has called is drawn again. */
export function isZone(name: string): boolean {
  learned.value;
  if (name !== "" && !known.has(name)) loadZone(name).catch(() => undefined);
  return !!known.get(name);
}

/** How far the wall clock is ahead of UTC. */
export function readOffset(name: string, time: number): number {
  const { offset = 0, changes = [] } = known.get(name) ?? {};
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle]?.time ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return (changes[low - 1]?.offset ?? offset) * 1000;
}

/** When the clock of a zone is put forward or back within [from, to], and by how much. */
export function clockChanges(
  name: string,
  from: number,
  to: number,
): readonly { readonly time: number; readonly minutes: number }[] {
  return (known.get(name)?.changes ?? [])
    .filter(({ time }) => time >= from && time <= to)
    .map(({ time }) => ({ time, minutes: (readOffset(name, time) - readOffset(name, time - 1)) / 60_000 }));
}

/** What the wall clock of the zone shows at a time, as if it were UTC. */
export const toWallTime = (zone: string, time: number): number => time + readOffset(zone, time);

const dayMs = 86_400_000;

/**
 * The time at which the wall clock shows this. One that it shows twice means the first, one that it never shows is moved
 * forward by the gap, as the API has it.
 */
export function fromWallTime(zone: string, wall: number): number {
  const [before, after] = [readOffset(zone, wall - dayMs), readOffset(zone, wall + dayMs)];
  const early = wall - before;
  if (toWallTime(zone, early) === wall) return early;
  const late = wall - after;
  return toWallTime(zone, late) === wall ? late : early;
}

/** `+08:00`. */
export function offsetText(zone: string, time: number): string {
  const minutes = Math.round(readOffset(zone, time) / 60_000);
  const digits = (n: number): string => String(Math.abs(Math.trunc(n))).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${digits(minutes / 60)}:${digits(minutes % 60)}`;
}

/** `2026-11-24 14:30:00`, with as many digits of the second as the time has. */
export function wallText(zone: string, time: number): string {
  const text = new Date(toWallTime(zone, time)).toISOString();
  const [day = "", clock = ""] = text.replace(/\.000Z$|Z$/, "").split("T");
  return `${day} ${clock}`;
}
