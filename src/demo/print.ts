/** The demo's output: a bar on a terminal, plain lines elsewhere, and tables. */

type Progress = (done: number) => void;

const barCells = 40;
const plainSteps = 4;

/** Redraws one line on a terminal; elsewhere it writes a line every quarter. */
export function createProgressLine(out: NodeJS.WriteStream, what: string, total: number): Progress {
  let shown = -1;
  const steps = out.isTTY ? barCells * 5 : plainSteps;
  return (done) => {
    const step = Math.floor((done * steps) / total);
    if (step === shown) return;
    shown = step;
    const text = `${thousands(done)} of ${thousands(total)} ${what}`;
    if (!out.isTTY) {
      if (step > 0) out.write(`  ${text}\n`);
      return;
    }
    const full = Math.floor((done * barCells) / total);
    out.write(`\r  [${"#".repeat(full)}${"·".repeat(barCells - full)}] ${text}${done === total ? "\n" : ""}`);
  };
}

export function thousands(value: number): string {
  return value.toLocaleString("en");
}

export type PrintedCell = string | number | boolean | readonly number[] | null;

/** Columns as wide as their widest cell, numbers to the right; a column with fractions shows two decimals. */
export function table(heads: readonly string[], rows: readonly (readonly PrintedCell[])[]): string {
  const columns = heads.map((head, i) => {
    const cells = rows.map((row) => row[i] ?? null);
    const texts = cells.map(cellTextIn(cells));
    const width = Math.max(...[head, ...texts].map(({ length }) => length));
    const pad = cells.some((cell) => typeof cell === "number") ? "padStart" : "padEnd";
    return [head[pad](width), "─".repeat(width), ...texts.map((text) => text[pad](width))];
  });
  const lines = Array.from({ length: rows.length + 2 }, (_, i) => columns.map((column) => column[i]));
  return lines.map((line) => `  ${line.join("  ").trimEnd()}`).join("\n");
}

function cellTextIn(column: readonly PrintedCell[]): (cell: PrintedCell) => string {
  const numbers = column.filter((cell) => typeof cell === "number");
  const decimals = numbers.every(Number.isInteger) ? 0 : 2;
  return (cell) => (cell === null ? "–" : typeof cell === "number" ? cell.toFixed(decimals) : String(cell));
}
