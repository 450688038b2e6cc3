import { unguardFormula } from "../devices/formula-guard.js";
import { nameBytesMax, rowBytesMax, unknownMax } from "./bounds.js";
import type { CsvHeader } from "./csv-header.js";
import { type CsvRows, createCsvRows } from "./csv-rows.js";
import {
  isKept,
  overlong,
  type RowTaker,
  readRowTime,
  type TakerState,
  type Target,
  takeValue,
} from "./row-taker.js";
import { createTargetCache } from "./target-cache.js";
import { createTimeReader } from "./times.js";
import { readDecimal, takesNumbers } from "./values.js";

const notText = "is not UTF-8";

/** Rows of a CSV file in either layout. */
export function createCsvTaker(header: CsvHeader, state: TakerState): RowTaker {
  const rows = createCsvRows(header.delimiter);
  const timeOf = createTimeReader();
  const { builder, targets, unknown } = state;
  const { deviceAt, timeAt, columns } = header;
  /** Of the long layout, the columns of the data point's name and of its value. */
  const { pointAt, valueAt } = header;
  const values = header.points;
  const cache = createTargetCache();
  let cachedOf = state.epoch;

  /** The cell's bytes, the same for either spelling of a text. */
  const raw = (bytes: Buffer, cell: number): string => {
    const text = bytes.toString("latin1", rows.starts[cell] as number, rows.ends[cell] as number);
    return rows.isDoubled(cell) ? text.replaceAll('""', '"') : text;
  };
  const textOf = (bytes: Buffer, cell: number): string | null => {
    const text = rows.text(bytes, cell);
    return text === null ? null : unguardFormula(text);
  };

  function note(bytes: Buffer, key: string, dataPointID: string | null): void {
    const deviceID = textOf(bytes, deviceAt);
    // What is no text names nothing; the answer will say so.
    unknown.set(key, { deviceID: deviceID ?? "", dataPointID: dataPointID ?? "" });
  }

  /**
   * The target of a device and a data point, which its column names or its own cell; undefined notes it as unknown.
   * `column` tells columns apart, 0 where the data point has a cell.
   */
  function targetOf(
    bytes: Buffer,
    point: number | null,
    name: string | null,
    column: number,
  ): Target | undefined {
    const start = rows.starts[deviceAt] as number;
    const end = rows.ends[deviceAt] as number;
    const start2 = point === null ? 0 : (rows.starts[point] as number);
    const end2 = point === null ? 0 : (rows.ends[point] as number);
    if (end - start > nameBytesMax) return overlong.device;
    if ((name?.length ?? end2 - start2) > nameBytesMax) return overlong.point;
    // The same bytes are another text where their quotation marks are doubled.
    const forms = (rows.isDoubled(deviceAt) ? 1 : 0) + (point !== null && rows.isDoubled(point) ? 2 : 0);
    const salt = 4 * column + forms;
    if (cachedOf !== state.epoch) {
      cachedOf = state.epoch;
      cache.clear();
    }
    const near = cache.find(bytes, start, end, start2, end2, salt);
    if (near !== undefined) return near;
    const key = `${raw(bytes, deviceAt)}\n${point === null ? name : raw(bytes, point)}`;
    const target = targets.get(key);
    if (target !== undefined) cache.keep(bytes, start, end, start2, end2, salt, target);
    else note(bytes, key, point === null ? name : textOf(bytes, point));
    return target;
  }

  /** Finds the row's targets; false when one is not known yet. In the long layout there is one. */
  function find(bytes: Buffer, found: (Target | undefined)[]): boolean {
    if (pointAt !== null) {
      const target = targetOf(bytes, pointAt, null, 0);
      found[0] = target;
      return target !== undefined;
    }
    let known = true;
    for (const { at, dataPointID } of values) {
      if (isEmpty(at)) {
        found[at] = undefined;
        continue;
      }
      const target = targetOf(bytes, null, dataPointID, at + 1);
      found[at] = target;
      known &&= target !== undefined;
    }
    return known;
  }

  const isEmpty = (cell: number) => rows.ends[cell] === rows.starts[cell] && !rows.isQuoted(cell);
  const isBlank = () => rows.count === 1 && isEmpty(0);

  function readTimeCell(bytes: Buffer): number {
    const time = timeOf(bytes, rows.starts[timeAt] as number, rows.ends[timeAt] as number);
    return Number.isNaN(time) ? readRowTime(state, rows.text(bytes, timeAt)) : time;
  }

  function takeCell(bytes: Buffer, cell: number, target: Target, time: number, column: string): void {
    if ("type" in target && takesNumbers(target)) {
      const value = readDecimal(bytes, rows.starts[cell] as number, rows.ends[cell] as number);
      if (!Number.isNaN(value)) return builder.add(target.index, time, value, state.line);
    }
    const text = textOf(bytes, cell);
    if (text === null) builder.refuse(state.line, column, notText);
    else takeValue(state, target, time, text, column);
  }

  const found: (Target | undefined)[] = [];

  /** A row is looked for no further than one may be long. */
  function nextRow(bytes: Buffer, at: number, to: number, end: boolean): number {
    const stop = Math.min(to, at + rowBytesMax);
    return rows.next(bytes, at, stop, end && stop === to);
  }

  /** False when the row must wait for what its targets are. */
  function takeRow(bytes: Buffer): boolean {
    if (rows.problem !== null) {
      builder.refuse(state.line, "", rows.problem);
      return true;
    }
    if (isBlank()) return true;
    if (rows.count !== columns) {
      builder.refuse(state.line, "", `has ${rows.count} columns, the header has ${columns}`);
      return true;
    }
    if (!find(bytes, found)) return false;
    const time = readTimeCell(bytes);
    if (Number.isNaN(time) || !isKept(state, time)) return true;
    if (valueAt !== null) takeCell(bytes, valueAt, found[0] as Target, time, "value");
    else {
      for (const { at, dataPointID } of values) {
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
      const ignored: (Target | undefined)[] = [];
      for (let at = from; at < to && unknown.size < unknownMax; ) {
        const next = nextRow(bytes, at, to, end);
        if (next < 0) return;
        if (isReadable(rows, columns)) find(bytes, ignored);
        at = next;
      }
    },
  };
}

function isReadable(rows: CsvRows, columns: number): boolean {
  return rows.problem === null && rows.count === columns;
}
