/** The first rows of a file, read here before it is sent, and what is wrong with its header. */

export interface Preview {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export const bytesMax = 64 * 1024;
const rowsMax = 5;
const delimiters = [",", ";", "\t"];

export const isPacked = (file: File): boolean => /\.gz$/i.test(file.name);

/** The text of a file as it comes: unpacked, and in UTF-16 where its mark says so. */
export async function openText(file: File): Promise<ReadableStreamDefaultReader<string>> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const encoding = !isWide ? "utf-8" : first === 0xff ? "utf-16le" : "utf-16be";
  const bytes = isPacked(file) ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  return bytes.pipeThrough(new TextDecoderStream(encoding)).getReader();
}

/** The beginning of a file as text. */
export async function readBeginning(file: File): Promise<string> {
  const reader = await openText(file);
  let text = "";
  while (text.length < bytesMax) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return text.slice(0, bytesMax);
}

export const isNdjson = (text: string): boolean => /^(\ufeff)?\s*\{/.test(text);

/** Null for what is neither. */
export function createPreview(text: string, most = rowsMax): Preview | null {
  const whole = text.replace(/^\ufeff/, "");
  return isNdjson(whole) ? previewOfNdjson(whole, most) : previewOfCsv(whole, most);
}

function previewOfNdjson(text: string, most: number): Preview | null {
  const rows: Record<string, unknown>[] = [];
  for (const line of text.split("\n")) {
    if (rows.length === most) break;
    if (line.trim() === "") continue;
    try {
      rows.push(JSON.parse(line) as Record<string, unknown>);
    } catch {
      // The last line may be cut where the beginning ends.
      break;
    }
  }
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown): string =>
    value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return columns.length === 0
    ? null
    : { columns, rows: rows.map((row) => columns.map((one) => cell(row[one]))) };
}

function previewOfCsv(text: string, most: number): Preview | null {
  // A line of its own names the delimiter for Excel.
  const [line = "", named] = /^"?sep=(.)"?\r?\n/i.exec(text) ?? [];
  const [first = ""] = text.split("\n", 1);
  const cells = (one: string): number => first.split(one).length;
  const delimiter = named ?? delimiters.reduce((best, one) => (cells(one) > cells(best) ? one : best));
  const [columns, ...rows] = csvRows(text.slice(line.length), delimiter, most + 1);
  return columns === undefined ? null : { columns: columns.map((one) => one.trim()), rows };
}

/** As in RFC 4180: a quoted cell may hold delimiters, line breaks, and quotes that are doubled. */
export function csvRows(text: string, delimiter: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endRow = (): void => {
    row.push(cell.replace(/\r$/, ""));
    if (row.length > 1 || row[0] !== "") rows.push(row);
    [row, cell] = [[], ""];
  };
  for (let at = 0; at < text.length && rows.length < most; at++) {
    const sign = text.charAt(at);
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text.charAt(at + 1) === '"') {
        cell += '"';
        at++;
      } else isQuoted = false;
    } else if (sign === '"' && cell === "") isQuoted = true;
    else if (sign === delimiter) {
      row.push(cell);
      cell = "";
    } else if (sign === "\n") endRow();
    else cell += sign;
  }
  if (rows.length < most && (cell !== "" || row.length > 0)) endRow();
  return rows;
}

/** Columns that a file of points must have, and does not: with dataPointID it is long, else wide. */
export function missingForPoints(columns: readonly string[]): readonly string[] {
  const isLong = columns.includes("dataPointID") && columns.includes("value");
  const wanted = isLong ? ["deviceID", "dataPointID", "time", "value"] : ["deviceID", "time"];
  const missing = wanted.filter((name) => !columns.includes(name));
  return missing.length === 0 && !isLong && columns.length < 3 ? ["dataPointID", "value"] : missing;
}

export function missingForDevices(columns: readonly string[]): readonly string[] {
  const wanted = ["deviceID", "deviceName", "deviceType", "productID", "cloudProtocol"];
  const given = columns.map((name) => name.toLowerCase());
  return wanted.filter((name) => !given.includes(name.toLowerCase()));
}
