/** What the demo writes: a bar where there is a terminal, plain lines elsewhere, and tables. */

export interface Progress {
  (done: number): void;
}

const barCells = 40;
const plainSteps = 4;

/** Redraws one line on a terminal; elsewhere it writes a line every quarter. */
export function createProgress(out: NodeJS.WriteStream, what: string, total: number): Progress {
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

export type Cell = string | number | boolean | readonly number[] | null;

/** Columns as wide as their widest cell; the first to the left, numbers to the right. */
export function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = [heads, ...rows.map((row) => row.map(cellText))];
  const widths = heads.map((_, i) => Math.max(...texts.map((row) => row[i]?.length ?? 0)));
  const lines = texts.map((row) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join("  "),
  );
  lines.splice(1, 0, widths.map((width) => "─".repeat(width)).join("  "));
  return lines.map((line) => `  ${line.trimEnd()}`).join("\n");
}

function cellText(cell: Cell): string {
  if (cell === null) return "–";
  return typeof cell === "number" ? String(Math.round(cell * 100) / 100) : String(cell);
}
