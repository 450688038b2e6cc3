/** Series of several data points as one table: a row a time, a column a series. Pure. */
import { numberText } from "../charts/numbers.js";
import { csvLine } from "../csv.js";
import { mergeRows } from "../explore/rows.js";

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

export function createTable<One extends Column>(columns: readonly One[]): Table<One> {
  const rows = mergeRows(columns.map(({ time, value }) => ({ times: time, values: value })));
  return { columns, rows: rows.map(({ time, values }) => ({ time, cells: values })) };
}

export function cellText(value: unknown): string {
  if (value === undefined) return "";
  if (value === null) return "–";
  if (typeof value === "number") return numberText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** As a file: times are UTC, values are not rounded. */
export function formatTableCsv({ columns, rows }: Table<Column>): string {
  const lines = rows.map(({ time, cells }) => [new Date(time).toISOString(), ...cells]);
  return [["time", ...columns.map(({ name }) => name)], ...lines]
    .map((line) => `${csvLine(line)}\n`)
    .join("");
}
