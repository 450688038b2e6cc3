/** What a chart draws, as uPlot takes it: one column of times, and one to three columns a line. */
import uPlot from "uplot";
import type { LatePoint } from "./late-points.js";

export interface Line {
  readonly name: string;
  readonly unit: string | null;
  /** Index of one of the eight series colours. */
  readonly color: number;
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  /** Null: nothing was measured then. */
  readonly values: readonly (number | null)[];
  /** The extremes of each window, as long as `values`. */
  readonly band?: Band;
  readonly axis?: "left" | "right";
  /** An earlier time that another line is compared with. */
  readonly isDashed?: boolean;
  /** A value holds until the next one: there is nothing between yes and no. */
  readonly isStepped?: boolean;
  /** The points of this line that came late. */
  readonly late?: readonly LatePoint[];
}

interface Band {
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** A column of values. */
interface Column {
  /** Index into the lines. */
  readonly line: number;
  readonly part: "value" | "low" | "high";
}

export function alignLines(lines: readonly Line[]): Column[] {
  return lines.flatMap(({ band }, line): Column[] =>
    band === undefined
      ? [{ line, part: "value" }]
      : [
          { line, part: "value" },
          { line, part: "high" },
          { line, part: "low" },
        ],
  );
}

/** Lines of other times are brought together: what one lacks at a time of another is no gap. */
export function createChartData(lines: readonly Line[]): uPlot.AlignedData {
  if (lines.length === 0) return [[]];
  const tables = lines.map(({ times, values, band }): uPlot.AlignedData => {
    const seconds = times.map((time) => time / 1000);
    return [seconds, [...values], ...(band === undefined ? [] : [[...band.high], [...band.low]])];
  });
  const [only] = tables;
  return tables.length === 1 && only !== undefined ? only : uPlot.join(tables);
}

/** The value that a line has at a time: the last one before it where it has none of its own; null beyond its ends. */
export function valueAt({ times, values }: Pick<Line, "times" | "values">, time: number): number | null {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) <= time) low = middle + 1;
    else high = middle;
  }
  const isPast = low === times.length && (times.at(-1) ?? time) < time;
  return isPast ? null : (values[low - 1] ?? null);
}
