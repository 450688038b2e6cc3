/** Lines as rows, for the table and for files. */
import type { Line } from "../charts/lines.js";
import { offsetText, wallText } from "../charts/zone.js";

interface ValueRow {
  readonly time: number;
  /** In the order of the lines; undefined: that line has nothing at this time. */
  readonly values: readonly (number | null | undefined)[];
}

/** Every time of any of the lines, ascending. */
export function rowsOf(lines: readonly Line[]): ValueRow[] {
  const rows = new Map<number, (number | null | undefined)[]>();
  for (const [i, { times, values }] of lines.entries()) {
    for (const [at, time] of times.entries()) {
      let row = rows.get(time);
      if (row === undefined) {
        row = new Array(lines.length).fill(undefined);
        rows.set(time, row);
      }
      row[i] = values[at];
    }
  }
  return [...rows].sort(([a], [b]) => a - b).map(([time, values]) => ({ time, values }));
}

/** `2026-10-25T02:30:00+01:00`: the wall clock of the zone, and which of two hours is meant. */
const stampOf = (zone: string, time: number): string =>
  `${wallText(zone, time).replace(" ", "T")}${offsetText(zone, time)}`;

/** A file with a column a line; times are exact in the zone. */
export function csvOf(lines: readonly Line[], zone: string): string {
  const header = ["time", ...lines.map(({ name, unit }) => (unit === null ? name : `${name} (${unit})`))];
  const rows = rowsOf(lines).map(({ time, values }) => [
    stampOf(zone, time),
    ...values.map((value) => (value === null || value === undefined ? "" : String(value))),
  ]);
  return `${[header.map(textCell), ...rows].map((row) => row.join()).join("\r\n")}\r\n`;
}

/** Quoted where it must be; nothing that a spreadsheet would run. */
function textCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
