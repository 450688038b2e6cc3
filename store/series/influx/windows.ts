/** Groups successive windows of one width, so that Flux can compute each group as a whole. */

/** The windows [k × width + phase, (k + 1) × width + phase) for whole k, cut to [start, stop). Microseconds. */
export interface WindowRun {
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  /** In [0, width). */
  readonly phase: number;
  /** Months or years of UTC, which Flux counts itself; width and phase then mean nothing. */
  readonly calendar?: "1mo" | "1y";
}

const calendars = [
  { calendar: "1mo", months: 1 },
  { calendar: "1y", months: 12 },
] as const;

/** One run where every inner edge is the start of the next month, or year, of UTC. */
function calendarRun(edges: readonly number[]): WindowRun | null {
  const [start = 0, first = 0] = edges;
  const stop = edges[edges.length - 1] ?? 0;
  if (edges.length < 4) return null;
  const date = new Date(first / 1000);
  const monthsFrom = (count: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count, 1) * 1000;
  for (const { calendar, months } of calendars) {
    const inner = edges.slice(1, -1);
    const fits =
      (months === 1 || date.getUTCMonth() === 0) &&
      inner.every((edge, i) => edge === monthsFrom(i * months)) &&
      start >= monthsFrom(-months) &&
      stop <= monthsFrom(inner.length * months);
    if (fits) return { start, stop, width: 0, phase: 0, calendar };
  }
  return null;
}

/**
 * Splits ascending edges into runs whose windows are exactly the windows between the edges. No time zone is needed:
 * widths alone show a day of 23 or 25 hours. The first and the last window of a run may be narrower than the others,
 * because the run's own range clips the windows of the grid to just that.
 */
export function windowRuns(edges: readonly number[]): WindowRun[] {
  const whole = calendarRun(edges);
  if (whole !== null) return [whole];
  const runs: WindowRun[] = [];
  for (let from = 0; from < edges.length - 1; ) {
    const to = runEnd(edges, from);
    runs.push(toWindowRun(edges, from, to));
    from = to;
  }
  return runs;
}

/** The edge that ends the run begun at edge `from`: a window that may be narrower, equal ones, then a narrower one. */
function runEnd(edges: readonly number[], from: number): number {
  const last = edges.length - 1;
  const width = Math.max(widthAt(edges, from), widthAt(edges, from + 1));
  let to = from + 1;
  while (to < last && widthAt(edges, to) === width) to += 1;
  return to < last && widthAt(edges, to) < width ? to + 1 : to;
}

function toWindowRun(edges: readonly number[], from: number, to: number): WindowRun {
  const first = widthAt(edges, from);
  const width = to - from > 1 ? Math.max(first, widthAt(edges, from + 1)) : first;
  // The run's second edge lies on its grid even when its first window is a narrower one.
  const grid = edges[from + 1] ?? 0;
  return {
    start: edges[from] ?? 0,
    stop: edges[to] ?? 0,
    width,
    phase: ((grid % width) + width) % width,
  };
}

/** 0 beyond the last window. */
function widthAt(edges: readonly number[], index: number): number {
  const end = edges[index + 1];
  return end === undefined ? 0 : end - (edges[index] ?? 0);
}
