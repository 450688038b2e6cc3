/** What a file of points looks like, before any of it is sent. */
import { createPreview, isNdjson, openText, readBeginning } from "../system/preview.js";
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

const columnsShown = 30;

export async function lookAt(file: File): Promise<FileLook> {
  const head = await readBeginning(file);
  const columns = createPreview(head, 1)?.columns ?? [];
  const lines = await countLines(file);
  return {
    file,
    type: isNdjson(head) ? "application/x-ndjson" : "text/csv",
    rows: isNdjson(head) ? lines : Math.max(0, lines - 1),
    columns: columns.slice(0, columnsShown),
    fault: ["deviceID", "time"].every((name) => columns.includes(name)) ? null : "drop.wrongHeader",
  };
}

/** Counted piece by piece: the file may be larger than the page should hold. */
async function countLines(file: File): Promise<number> {
  let [lines, last] = [0, "\n"];
  const reader = await openText(file);
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    lines += read.value.split("\n").length - 1;
    last = read.value.at(-1) ?? last;
  }
  return last === "\n" ? lines : lines + 1;
}
