import { isDecimalComma } from "../csv-dialect.js";
import type { CsvHeader } from "./csv-header.js";
import { type CsvRows, createCsvRows } from "./csv-rows.js";
import { cellText, createCsvTargets, isEmptyCell } from "./csv-targets.js";
import { rowBytesMax, unknownMax } from "./limits.js";
import {
  type ImportTarget,
  isStorable,
  type RowTaker,
  readRowTime,
  type TakerState,
  takeValue,
} from "./row-taker.js";
import { createTimeReader } from "./times.js";
import { acceptsNumbers, isNumeric, readDecimal } from "./values.js";

const notText = "is not UTF-8";

/** Rows of a CSV file in either layout. */
export function createCsvTaker(header: CsvHeader, state: TakerState): RowTaker {
  const rows = createCsvRows(header.delimiter);
  const readTime = createTimeReader();
  const targets = createCsvTargets(rows, header, state);
  const { builder, unknown } = state;
  const { timeAt, columns, points, decimalComma } = header;
  /** The column of the value, in the long layout. */
  const { valueAt } = header;
  const found: (ImportTarget | undefined)[] = [];

  function readTimeCell(bytes: Buffer): number {
    const time = readTime(bytes, rows.starts[timeAt] as number, rows.ends[timeAt] as number);
    return Number.isNaN(time) ? readRowTime(state, rows.text(bytes, timeAt)) : time;
  }

  function takeCell(bytes: Buffer, cell: number, target: ImportTarget, time: number, column: string): void {
    if ("type" in target && acceptsNumbers(target)) {
      const [start, end] = [rows.starts[cell] as number, rows.ends[cell] as number];
      const value = readDecimal(bytes, start, end, decimalComma);
      if (!Number.isNaN(value)) return builder.add(target.index, time, value, state.line);
    }
    const text = cellText(rows, bytes, cell);
    if (text === null) builder.refuse(state.line, column, notText);
    else if (decimalComma && isDecimalComma(text) && "type" in target && isNumeric(target)) {
      takeValue(state, target, time, text.replace(",", "."), column);
    } else takeValue(state, target, time, text, column);
  }

  /** Does not search for a row's end beyond the longest allowed row. */
  function nextRow(bytes: Buffer, at: number, to: number, end: boolean): number {
    const stop = Math.min(to, at + rowBytesMax);
    return rows.next(bytes, at, stop, end && stop === to);
  }

  /** False if the row must wait until its targets are known. */
  function takeRow(bytes: Buffer): boolean {
    if (rows.problem !== null) {
      builder.refuse(state.line, "", rows.problem);
      return true;
    }
    if (rows.count === 1 && isEmptyCell(rows, 0)) return true;
    if (rows.count !== columns) {
      builder.refuse(state.line, "", `has ${rows.count} columns, the header has ${columns}`);
      return true;
    }
    if (!targets.find(bytes, found)) return false;
    const time = readTimeCell(bytes);
    if (Number.isNaN(time) || !isStorable(state, time)) return true;
    if (valueAt !== null) takeCell(bytes, valueAt, found[0] as ImportTarget, time, "value");
    else {
      for (const { at, dataPointID } of points) {
        const target = found[at];
        if (target !== undefined) takeCell(bytes, at, target, time, dataPointID);
      }
    }
    return true;
  }

  return {
    take: (bytes, from, to, end) => {
      let at = from;
      while (at < to && !builder.full) {
        const next = nextRow(bytes, at, to, end);
        if (next < 0 || !takeRow(bytes)) return at;
        state.line += rows.lines;
        at = next;
      }
      return at;
    },
    lookAhead: (bytes, from, to, end) => {
      const ignored: (ImportTarget | undefined)[] = [];
      for (let at = from; at < to && unknown.size < unknownMax; ) {
        const next = nextRow(bytes, at, to, end);
        if (next < 0) return;
        if (isReadable(rows, columns)) targets.find(bytes, ignored);
        at = next;
      }
    },
  };
}

function isReadable(rows: CsvRows, columns: number): boolean {
  return rows.problem === null && rows.count === columns;
}
