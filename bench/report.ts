import { arch, cpus } from "node:os";

/** One measured value, and the figure of the same run that it is to be compared with. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Name of another figure of the same report. */
  readonly baseline?: string;
  /** Whatever else was seen: latencies, CPU, checks. */
  readonly detail?: Readonly<Record<string, number | string>>;
}

/** Prints the table, then the same as one line of JSON. */
export function printReport(bench: string, figures: readonly Figure[]): void {
  const rows = figures.map((figure) => ({ ...figure, ratio: ratioOf(figure, figures) }));
  console.log(table(rows.map((row) => [row.name, format(row.value), row.unit, against(row), details(row)])));
  const machine = { cpus: cpus().length, model: cpus()[0]?.model ?? "", arch: arch(), node: process.version };
  console.log(JSON.stringify({ bench, machine, figures: rows }));
}

function ratioOf(figure: Figure, figures: readonly Figure[]): number | null {
  const baseline = figures.find((other) => other.name === figure.baseline);
  return baseline === undefined || baseline.name === figure.name || baseline.value === 0
    ? null
    : figure.value / baseline.value;
}

function against(row: Figure & { ratio: number | null }): string {
  return row.ratio === null ? "" : `${row.ratio.toFixed(row.ratio < 0.1 ? 4 : 2)} × ${row.baseline}`;
}

function details(row: Figure): string {
  const entries = Object.entries(row.detail ?? {});
  return entries
    .map(([name, value]) => `${name} ${typeof value === "number" ? format(value) : value}`)
    .join(", ");
}

function format(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

const rightAligned = new Set([1]);

function table(rows: readonly string[][]): string {
  const head = ["what", "value", "unit", "ratio", "seen"];
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, rightAligned.has(column)))
      .join("  ")
      .trimEnd();
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

function pad(cell: string, width: number, right: boolean): string {
  return right ? cell.padStart(width) : cell.padEnd(width);
}

/** Progress goes to standard error: standard output holds the report alone. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
