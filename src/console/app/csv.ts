/** What a spreadsheet would run as a formula, or as one behind apostrophes: the same that the service guards. */
const formula = /^'*[=+\-@\t\r]/;

/** A row of a CSV file without its end; numbers stay numbers, and a text that looks like a formula gets a ' before it. */
export function csvLine(cells: readonly unknown[]): string {
  return cells.map((cell) => quoted(typeof cell === "string" ? guarded(cell) : plain(cell))).join();
}

const guarded = (text: string): string => (formula.test(text) ? `'${text}` : text);

function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
