/** Points that came long after their time. Only live events show it: the store keeps no time of arrival. Pure. */

export interface LatePoint {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** How much later it came, milliseconds. */
  readonly byMs: number;
}

const lateMs = 10 * 60_000;
/** Limits for each data point of a device. */
const [lateMax, seenMax] = [1000, 5000];

interface Seen {
  readonly seenTimes: Set<number>;
  readonly late: Map<number, number>;
  newest: number;
}

/** The late points since a page is shown, by data points of devices. */
export class LatePoints {
  readonly #seen = new Map<string, Seen>();

  /** Whether it came late: after a newer one of its data point, or ten minutes after its time. */
  add(deviceID: string, dataPointIntID: number, time: number, now: number): boolean {
    const key = latePointKey(deviceID, dataPointIntID);
    let seen = this.#seen.get(key);
    if (seen === undefined) {
      seen = { seenTimes: new Set(), late: new Map(), newest: Number.NEGATIVE_INFINITY };
      this.#seen.set(key, seen);
    }
    const { seenTimes, late, newest } = seen;
    // A point with a known time has been judged before.
    if (seenTimes.has(time)) return late.has(time);
    if (seenTimes.size >= seenMax) seenTimes.clear();
    seenTimes.add(time);
    seen.newest = Math.max(newest, time);
    // The clock of this machine may be behind.
    const byMs = Math.max(now, newest) - time;
    if (time >= newest && byMs < lateMs) return false;
    late.set(time, byMs);
    const [first] = late.keys();
    if (late.size > lateMax && first !== undefined) late.delete(first);
    return true;
  }

  of(deviceID: string, dataPointIntID: number): LatePoint[] {
    const late = this.#seen.get(latePointKey(deviceID, dataPointIntID))?.late ?? [];
    return [...late].map(([time, byMs]) => ({ time, byMs }));
  }

  clear(): void {
    this.#seen.clear();
  }
}

const latePointKey = (deviceID: string, dataPointIntID: number): string => `${dataPointIntID} ${deviceID}`;
