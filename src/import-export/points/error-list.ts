import { open } from "node:fs/promises";
import type { DiskClaim } from "../../http/disk-space.js";
import { ApiError } from "../../http/errors.js";
import { guardFormula } from "../formula-guard.js";
import type { BadRow } from "./batch-builder.js";
import { errorsFileBytesMax, errorsListedMax } from "./limits.js";

/** How far the list of bad rows has been written: enough to continue it after a restart. */
export interface ErrorListState {
  readonly count: number;
  readonly bytes: number;
  readonly told: readonly BadRow[];
}

export const noErrors: ErrorListState = { count: 0, bytes: 0, told: [] };

/** The bad rows of an import, as CSV: line, column, error. */
export interface ErrorList {
  readonly state: ErrorListState;
  add(rows: readonly BadRow[]): Promise<void>;
  close(): Promise<void>;
}

const header = "line,column,error\r\n";

/**
 * Continues at `from`; anything that an earlier run wrote after it is cut off. Once `claim` gets no more space, further
 * rows are only counted.
 */
export async function openErrorList(
  path: string,
  from: ErrorListState,
  claim: Pick<DiskClaim, "grow"> | null,
): Promise<ErrorList> {
  const file = await open(path, from.bytes === 0 ? "w" : "r+");
  let { count, bytes } = from;
  const told = [...from.told];
  let full = false;

  async function append(text: string): Promise<void> {
    const data = Buffer.from(text);
    full = !(await fits(data.length));
    if (full) return;
    await file.write(data, 0, data.length, bytes);
    bytes += data.length;
  }

  async function fits(more: number): Promise<boolean> {
    if (bytes + more > errorsFileBytesMax) return false;
    try {
      await claim?.grow(more);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  await file.truncate(bytes);
  if (bytes === 0) await append(header);

  return {
    get state() {
      return { count, bytes, told: told.slice() };
    },
    add: async (rows) => {
      if (rows.length === 0) return;
      count += rows.length;
      told.push(...rows.slice(0, Math.max(0, errorsListedMax - told.length)));
      if (full) return;
      await append(
        rows.map(({ line, column, error }) => `${line},${cell(column)},${cell(error)}\r\n`).join(""),
      );
    },
    close: () => file.close(),
  };
}

function cell(text: string): string {
  const guarded = guardFormula(text);
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
