/** A calendar month in UTC: start taken, stop not, both in microseconds. */
export interface Month {
  /** YYYY-MM */
  readonly name: string;
  readonly start: number;
  readonly stop: number;
}

const MICROSECONDS = 1000;

/** The UTC month that holds `time` (microseconds; a safe integer, so years 1684 to 2255). */
export function monthOf(time: number): Month {
  const date = new Date(Math.floor(time / MICROSECONDS));
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return {
    name: `${year}-${String(month + 1).padStart(2, "0")}`,
    start: Date.UTC(year, month) * MICROSECONDS,
    stop: Date.UTC(year, month + 1) * MICROSECONDS,
  };
}
