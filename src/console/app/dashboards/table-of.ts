/** Series of several data points as one table: a row a time, a column a series. Pure. */
import { numberText } from "../charts/numbers.js";

interface Column {
  readonly name: string;
  readonly unit: string | null;
  /** Milliseconds since 1970, ascending. */
  readonly time: readonly number[];
  readonly value: readonly unknown[];
}

interface Table<One extends Column> {
  readonly columns: readonly One[];
  /** Ascending; undefined where a series has nothing at that time. */
  readonly rows: readonly { readonly time: number; readonly cells: readonly unknown[] }[];
}

export function tableOf<One extends Column>(columns: readonly One[]): Table<One> {
  const rows = new Map<number, unknown[]>();
  for (const [i, { time, value }] of columns.entries()) {
    for (const [k, at] of time.entries()) {
      let cells = rows.get(at);
      if (cells === undefined) {
        cells = new Array<unknown>(columns.length).fill(undefined);
        rows.set(at, cells);
      }
      cells[i] = value[k];
    }
  }
  const ascending = [...rows].sort(([a], [b]) => a - b);
  return { columns, rows: ascending.map(([time, cells]) => ({ time, cells })) };
}

export function cellText(value: unknown): string {
  if (value === undefined) return "";
  if (value === null) return "–";
  if (typeof value === "number") return numberText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** As a file: times are UTC, values are not rounded; text that a spreadsheet would run has a ' before it. */
export function csvOf({ columns, rows }: Table<Column>): string {
  const lines = [
    ["time", ...columns.map(({ name }) => name)],
    ...rows.map(({ time, cells }) => [new Date(time).toISOString(), ...cells.map(plain)]),
  ];
  return `${lines.map((line) => line.map(quoted).join(",")).join("\n")}\n`;
}

function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") return JSON.stringify(value);
  if (typeof value !== "string") return String(value);
  return /^[=+\-@]/.test(value) ? `'${value}` : value;
}

const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
