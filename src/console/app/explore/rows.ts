/** Lines as rows, for the table and for files. */
import type { Line } from "../charts/lines.js";
import { offsetText, wallText } from "../charts/zone.js";
import { csvLine } from "../csv.js";

interface ValueRow<Value> {
  readonly time: number;
  /** In the order of the lines; undefined: that line has nothing at this time. */
  readonly values: readonly (Value | undefined)[];
}

interface Values<Value> {
  readonly times: readonly number[];
  readonly values: readonly Value[];
}

/** Every time of any of the lines, ascending. */
export function mergeRows<Value>(lines: readonly Values<Value>[]): ValueRow<Value>[] {
  const rows = new Map<number, (Value | undefined)[]>();
  for (const [i, { times, values }] of lines.entries()) {
    for (const [at, time] of times.entries()) {
      let row = rows.get(time);
      if (row === undefined) {
        row = new Array<Value | undefined>(lines.length).fill(undefined);
        rows.set(time, row);
      }
      row[i] = values[at];
    }
  }
  return [...rows].sort(([a], [b]) => a - b).map(([time, values]) => ({ time, values }));
}

/** A file with a column a line; times are exact in the zone: `2026-10-25T02:30:00+01:00`. */
export function formatLinesCsv(lines: readonly Line[], zone: string): string {
  const names = lines.map(({ name, unit }) => (unit === null ? name : `${name} (${unit})`));
  const rows = mergeRows(lines).map(({ time, values }) => [
    wallText(zone, time).replace(" ", "T") + offsetText(zone, time),
    ...values,
  ]);
  return [["time", ...names], ...rows].map((row) => `${csvLine(row)}\r\n`).join("");
}
