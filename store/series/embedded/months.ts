/** A calendar month in UTC, [start, stop) in microseconds. */
export interface Month {
  /** YYYY-MM */
  readonly name: string;
  readonly start: number;
  readonly stop: number;
}

const microsecondsPerMs = 1000;

/** The UTC month that holds `time` (microseconds; a safe integer, so years 1684 to 2255). */
export function toMonth(time: number): Month {
  const date = new Date(Math.floor(time / microsecondsPerMs));
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return {
    name: `${year}-${String(month + 1).padStart(2, "0")}`,
    start: Date.UTC(year, month) * microsecondsPerMs,
    stop: Date.UTC(year, month + 1) * microsecondsPerMs,
  };
}
