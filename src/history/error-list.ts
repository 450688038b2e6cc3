import { open } from "node:fs/promises";
import { guardFormula } from "../transfer/formula-guard.js";
import type { BadRow } from "./batch-builder.js";
import { errorsFileBytesMax, errorsToldMax } from "./bounds.js";

/** How far the list of bad rows was written: enough to go on with it after a restart. */
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

/** Goes on where `from` stands; what an earlier run wrote behind it is cut off. */
export async function openErrorList(path: string, from: ErrorListState): Promise<ErrorList> {
  const file = await open(path, from.bytes === 0 ? "w" : "r+");
  let { count, bytes } = from;
  const told = [...from.told];

  async function append(text: string): Promise<void> {
    const data = Buffer.from(text);
    await file.write(data, 0, data.length, bytes);
    bytes += data.length;
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
      told.push(...rows.slice(0, Math.max(0, errorsToldMax - told.length)));
      if (bytes >= errorsFileBytesMax) return;
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
