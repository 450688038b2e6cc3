import type { DiskClaim } from "../../http/disk-space.js";
import { formats } from "./formats.js";
import type { Cell } from "./table-file.js";

interface RowError {
  readonly row: number;
  readonly column: string;
  readonly error: string;
}

/** Errors that are listed; further ones are only counted. */
const errorsListedMax = 10_000;

export interface RowErrors {
  add(row: number, column: string, error: string): void;
  readonly count: number;
  /** How many more errors can be listed. */
  readonly left: number;
  /** By row, then in the order found. */
  sorted(): RowError[];
}

export function createRowErrors(): RowErrors {
  const errors: RowError[] = [];
  let count = 0;
  return {
    add: (row, column, error) => {
      count++;
      if (errors.length < errorsListedMax) errors.push({ row, column, error });
    },
    get count() {
      return count;
    },
    get left() {
      return errorsListedMax - errors.length;
    },
    sorted: () => errors.toSorted((a, b) => a.row - b.row),
  };
}

/** The message for the caller: the first error and how many there are. */
export function summarizeErrors(errors: RowErrors): string {
  const [first] = errors.sorted();
  if (first === undefined) return "the file has no errors";
  const all = errors.count === 1 ? "" : `; ${errors.count} errors in all`;
  return `row ${first.row}, column ${first.column}: ${first.error}${all}`;
}

/** Lists the errors as CSV: row, column, error. */
export async function writeErrors(path: string, errors: RowErrors, claim: DiskClaim): Promise<void> {
  async function* rows(): AsyncGenerator<Cell[]> {
    for (const { row, column, error } of errors.sorted()) yield [row, column, error];
  }
  await formats.csv.write(path, ["row", "column", "error"], rows(), claim);
}
