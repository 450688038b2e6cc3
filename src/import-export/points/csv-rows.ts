import { isUtf8 } from "node:buffer";
import { historyColumnsMax } from "./limits.js";

/**
 * Reads one CSV row (RFC 4180) at a time from bytes, without an object or a string for each cell, because
 * files of a hundred million rows pass here. A malformed row ends with its first line, so that one stray
 * quotation mark costs one line and not the rest of the file.
 */
export interface CsvRows {
  /**
   * Reads the row at `from`. Returns the offset after it, or -1 when [from, to) does not hold all of it.
   * `end`: nothing follows.
   */
  next(bytes: Buffer, from: number, to: number, end: boolean): number;
  /** Cells of the row read last. */
  readonly count: number;
  /** Line feeds within the row read last, its end included. */
  readonly lines: number;
  /** The fault of the row read last, or null. */
  readonly problem: string | null;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  isQuoted(cell: number): boolean;
  /** True if the cell's bytes have doubled quotation marks. */
  isDoubled(cell: number): boolean;
  /** The cell's text; null when it is not UTF-8. */
  text(bytes: Buffer, cell: number): string | null;
}

const quote = 34;
const lineFeed = 10;
const carriageReturn = 13;
const plain = 0;
const quoted = 1;
const doubled = 2;

export function createCsvRows(delimiter: number): CsvRows {
  const starts = new Int32Array(historyColumnsMax);
  const ends = new Int32Array(historyColumnsMax);
  const forms = new Uint8Array(historyColumnsMax);
  let count = 0;
  let lines = 0;
  let problem: string | null = null;

  /** The offset after the closing quotation mark of the cell that opens at `at`; -1 if there is none. */
  function closing(bytes: Buffer, at: number, to: number): number {
    for (let from = at + 1; ; ) {
      const found = bytes.indexOf(quote, from);
      if (found < 0 || found >= to) return -1;
      if (bytes[found + 1] !== quote || found + 1 >= to) return found + 1;
      forms[count] = doubled;
      from = found + 2;
    }
  }

  /** Takes only the first line, as a row that cannot be read. */
  function broken(bytes: Buffer, from: number, to: number, end: boolean, what: string): number {
    const found = bytes.indexOf(lineFeed, from);
    if (found < 0 || found >= to) {
      if (!end) return -1;
      lines = 0;
    } else lines = 1;
    problem = what;
    count = 0;
    return lines === 0 ? to : found + 1;
  }

  function next(bytes: Buffer, from: number, to: number, end: boolean): number {
    count = 0;
    lines = 0;
    problem = null;
    for (let at = from; ; ) {
      if (count === historyColumnsMax)
        return broken(bytes, from, to, end, `more than ${historyColumnsMax} columns`);
      if (bytes[at] === quote && at < to) {
        forms[count] = quoted;
        const after = closing(bytes, at, to);
        if (after < 0 || (after === to && !end)) {
          return end ? broken(bytes, from, to, end, "a quotation mark is not closed") : -1;
        }
        starts[count] = at + 1;
        ends[count] = after - 1;
        for (let feed = bytes.indexOf(lineFeed, at); feed >= 0 && feed < after; ) {
          lines++;
          feed = bytes.indexOf(lineFeed, feed + 1);
        }
        at = after;
        if (bytes[at] === carriageReturn && at < to && (bytes[at + 1] === lineFeed || at + 1 === to)) at++;
      } else {
        forms[count] = plain;
        starts[count] = at;
        while (at < to) {
          const byte = bytes[at];
          if (byte === delimiter || byte === lineFeed) break;
          at++;
        }
        const isLast = at >= to || bytes[at] === lineFeed;
        const endsWithReturn = isLast && at > (starts[count] as number) && bytes[at - 1] === carriageReturn;
        ends[count] = endsWithReturn ? at - 1 : at;
      }
      count++;
      if (at >= to) return end ? to : -1;
      if (bytes[at] === lineFeed) {
        lines++;
        return at + 1;
      }
      if (bytes[at] !== delimiter) {
        return broken(bytes, from, to, end, "there is text behind a closing quotation mark");
      }
      at++;
    }
  }

  return {
    next,
    get count() {
      return count;
    },
    get lines() {
      return lines;
    },
    get problem() {
      return problem;
    },
    starts,
    ends,
    isQuoted: (cell) => forms[cell] !== plain,
    isDoubled: (cell) => forms[cell] === doubled,
    text: (bytes, cell) => {
      const text = bytes.toString("utf8", starts[cell], ends[cell]);
      if (text.includes("\ufffd") && !isUtf8(bytes.subarray(starts[cell], ends[cell]))) return null;
      return forms[cell] === doubled ? text.replaceAll('""', '"') : text;
    },
  };
}
