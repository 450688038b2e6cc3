/** Parts that files of rows share: cells and bounds. */
import type { DiskClaim } from "../../http/disk-space.js";

/** A cell as it is written. */
export type Cell = string | number | boolean | null;

/**
 * A cell that is not simply the text that it has in the file: a number with the file's digits, a decimal of a file
 * with decimal commas, a date as `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, an error by its name, a formula without result.
 */
export interface TypedCell {
  readonly kind: "number" | "decimalComma" | "date" | "error" | "formula";
  readonly text: string;
}

/** A cell as it is read. */
export type FileCell = string | boolean | TypedCell | null;

export interface FileRow {
  /** Row numbers are as in a spreadsheet: the header is row 1. */
  readonly number: number;
  readonly cells: readonly FileCell[];
  /** The name of the sheet; absent where the format has none. */
  readonly sheet?: string;
}

/** One file format: how its rows are written and read, a few at a time. */
export interface TableFormat {
  readonly type: string;
  readonly extension: string;
  /** @param room asked before each chunk is written; if absent, space is not limited. @throws what `room` throws */
  write(
    path: string,
    header: readonly string[],
    rows: AsyncIterable<readonly Cell[]>,
    room?: DiskClaim,
  ): Promise<void>;
  /** @throws FormatError */
  read(path: string): AsyncGenerator<FileRow>;
}

/** Rows of devices, without the header. */
export const rowsMax = 200_000;
export const columnsMax = 256;
export const cellCharactersMax = 1_048_576;
/** The values of a formula that has failed, as spreadsheets write them into cells and CSV files. */
export const cellErrors: ReadonlySet<string> = new Set([
  ...["#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA", "#SPILL!"],
  ...["#CALC!", "#FIELD!", "#BLOCKED!", "#CONNECT!", "#UNKNOWN!", "#BUSY!", "#EXTERNAL!", "#PYTHON!"],
]);
/** More than the fields of any device hold together. */
export const rowCharactersMax = 2 * cellCharactersMax;

/** Characters that a cell takes in memory; at least those of a number. */
export function countCharacters(cell: FileCell): number {
  if (typeof cell === "string") return cell.length;
  return cell === null || typeof cell === "boolean" ? 0 : cell.text.length;
}
