/** Columns of texts that are bounded by their bytes, however many rows an answer has. */
import { StoreError } from "../../lib/errors.js";
import { textBytes } from "../../lib/text-bytes.js";
import type { Columns } from "../series.js";
import type { RowSink } from "./csv.js";
import type { FluxLimit } from "./flux.js";

/** The bound of columns of texts: which end of the points is kept, and how many bytes of it. */
export interface TextLimit {
  readonly from: FluxLimit["from"];
  readonly bytesMax: number;
}

/**
 * Columns that grow by rows in ascending order; of rows with equal times the last one stays. Read from the oldest, they
 * take no more once they hold `bytesMax`; read from the newest, they drop older texts.
 */
export function createTextColumns({ from, bytesMax }: TextLimit): {
  add: RowSink;
  columns(): Columns;
  /** Further rows would change nothing. */
  isFull(): boolean;
} {
  let times: number[] = [];
  let texts: string[] = [];
  /** Entries before this index have been dropped. */
  let first = 0;
  let bytes = 0;
  let cut = false;
  let full = false;

  function releaseOldest(): void {
    for (;;) {
      const oldest = textBytes(texts[first] ?? "");
      if (first >= texts.length - 1 || bytes - oldest < bytesMax) break;
      bytes -= oldest;
      texts[first] = "";
      first += 1;
      cut = true;
    }
    if (first < 1024 || first * 2 < texts.length) return;
    times = times.slice(first);
    texts = texts.slice(first);
    first = 0;
  }

  const add: RowSink = (time, value) => {
    const text = String(value);
    const last = times.at(-1);
    if (full) return;
    if (last !== undefined && time < last)
      throw new StoreError("CORRUPT", "cannot read points: out of order");
    if (time === last) {
      bytes += textBytes(text) - textBytes(texts.at(-1) ?? "");
      texts[texts.length - 1] = text;
    } else if (from === "oldest" && bytes >= bytesMax) {
      full = true;
      cut = true;
    } else {
      bytes += textBytes(text);
      times.push(time);
      texts.push(text);
    }
    if (from === "newest") releaseOldest();
  };
  const columns = (): Columns => ({
    kind: "text",
    times: Float64Array.from(times.slice(first)),
    values: texts.slice(first),
    ...(cut ? { cut } : {}),
  });
  return { add, columns, isFull: () => full };
}
