/** What a file of points looks like, before any of it is sent. */
import type { TextKey } from "../texts/texts.js";

export interface FileLook {
  readonly file: File;
  readonly type: "text/csv" | "application/x-ndjson";
  /** Without the header. */
  readonly rows: number;
  readonly columns: readonly string[];
  /** Why it is no file of points; null: it may be one. */
  readonly fault: TextKey | null;
}

const headBytes = 65_536;
const columnsShown = 30;

export async function lookAt(file: File): Promise<FileLook> {
  const head = (await file.slice(0, headBytes).text()).replace(/^\uFEFF/, "");
  const first = head.split(/\r?\n/, 1)[0] ?? "";
  const isNdjson = first.trimStart().startsWith("{");
  const columns = isNdjson ? keysOf(first) : cellsOf(first);
  const lines = await linesOf(file);
  return {
    file,
    type: isNdjson ? "application/x-ndjson" : "text/csv",
    rows: isNdjson ? lines : Math.max(0, lines - 1),
    columns: columns.slice(0, columnsShown),
    fault: ["deviceID", "time"].every((name) => columns.includes(name)) ? null : "drop.wrongHeader",
  };
}

function keysOf(line: string): string[] {
  try {
    return Object.keys(JSON.parse(line) as object);
  } catch {
    return [];
  }
}

function cellsOf(line: string): string[] {
  const separator = [",", ";", "\t"].find((one) => line.includes(one)) ?? ",";
  return line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
}

/** Counted piece by piece: the file may be larger than the page should hold. */
async function linesOf(file: File): Promise<number> {
  let [lines, last] = [0, 10];
  const reader = file.stream().getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    for (const byte of read.value) if (byte === 10) lines++;
    last = read.value.at(-1) ?? last;
  }
  return last === 10 ? lines : lines + 1;
}
