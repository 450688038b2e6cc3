/** Parts that files of rows share: cells and bounds. */
import type { DiskClaim } from "../../http/disk-space.js";

export type Cell = string | number | boolean | null;

export interface FileRow {
  /** Row numbers are as in a spreadsheet: the header is row 1. */
  readonly number: number;
  readonly cells: readonly Cell[];
}

/** One file format: how its rows are written and read, a few at a time. */
export interface TableFormat {
  readonly type: string;
  readonly extension: string;
  /** @param room asked before each chunk is written; if absent, there is room. @throws what `room` throws */
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
/** More than the fields of any device hold together. */
export const rowCharactersMax = 2 * cellCharactersMax;
