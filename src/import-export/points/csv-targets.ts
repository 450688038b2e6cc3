/** The series that the cells of a CSV row name, in either layout. */
import { unguardFormula } from "../formula-guard.js";
import type { CsvHeader } from "./csv-header.js";
import type { CsvRows } from "./csv-rows.js";
import { nameBytesMax } from "./limits.js";
import { type ImportTarget, overlong, type TakerState } from "./row-taker.js";
import { createTargetCache } from "./target-cache.js";

interface CsvTargets {
  /**
   * Finds the targets of the row read last: at index 0 for the long layout, at their columns for the wide one,
   * undefined for an empty cell. False if one is not known yet; it is noted as unknown.
   */
  find(bytes: Buffer, found: (ImportTarget | undefined)[]): boolean;
}

export function createCsvTargets(rows: CsvRows, header: CsvHeader, state: TakerState): CsvTargets {
  const { deviceAt, pointAt, points } = header;
  const { targets, unknown } = state;
  const cache = createTargetCache();
  let cachedOf = state.epoch;

  function note(bytes: Buffer, key: string, dataPointID: string | null): void {
    const deviceID = cellText(rows, bytes, deviceAt);
    // Bytes that are not UTF-8 name nothing; the answer will say so.
    unknown.set(key, { deviceID: deviceID ?? "", dataPointID: dataPointID ?? "" });
  }

  /**
   * The target of a device and a data point, which its column or its own cell names; undefined if it is not known, and
   * then it is noted. `column` identifies the column; it is 0 if the data point has a cell.
   */
  function findTarget(
    bytes: Buffer,
    point: number | null,
    name: string | null,
    column: number,
  ): ImportTarget | undefined {
    const start = rows.starts[deviceAt] as number;
    const end = rows.ends[deviceAt] as number;
    const start2 = point === null ? 0 : (rows.starts[point] as number);
    const end2 = point === null ? 0 : (rows.ends[point] as number);
    if (end - start > nameBytesMax) return overlong.device;
    if ((name?.length ?? end2 - start2) > nameBytesMax) return overlong.point;
    // The same bytes are a different text if quotation marks are doubled.
    const forms = (rows.isDoubled(deviceAt) ? 1 : 0) + (point !== null && rows.isDoubled(point) ? 2 : 0);
    const salt = 4 * column + forms;
    if (cachedOf !== state.epoch) {
      cachedOf = state.epoch;
      cache.clear();
    }
    const near = cache.find(bytes, start, end, start2, end2, salt);
    if (near !== undefined) return near;
    const key = `${rawCell(rows, bytes, deviceAt)}\n${point === null ? name : rawCell(rows, bytes, point)}`;
    const target = targets.get(key);
    if (target !== undefined) cache.keep(bytes, start, end, start2, end2, salt, target);
    else note(bytes, key, point === null ? name : cellText(rows, bytes, point));
    return target;
  }

  return {
    find: (bytes, found) => {
      if (pointAt !== null) {
        const target = findTarget(bytes, pointAt, null, 0);
        found[0] = target;
        return target !== undefined;
      }
      let known = true;
      for (const { at, dataPointID } of points) {
        if (isEmptyCell(rows, at)) {
          found[at] = undefined;
          continue;
        }
        const target = findTarget(bytes, null, dataPointID, at + 1);
        found[at] = target;
        known &&= target !== undefined;
      }
      return known;
    },
  };
}

/** The cell's bytes, the same for either spelling of a text. */
function rawCell(rows: CsvRows, bytes: Buffer, cell: number): string {
  const text = bytes.toString("latin1", rows.starts[cell] as number, rows.ends[cell] as number);
  return rows.isDoubled(cell) ? text.replaceAll('""', '"') : text;
}

/** The cell's text as it was before a formula in it was guarded; null if it is not UTF-8. */
export function cellText(rows: CsvRows, bytes: Buffer, cell: number): string | null {
  const text = rows.text(bytes, cell);
  return text === null ? null : unguardFormula(text);
}

export function isEmptyCell(rows: CsvRows, cell: number): boolean {
  return rows.ends[cell] === rows.starts[cell] && !rows.isQuoted(cell);
}
