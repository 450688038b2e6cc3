import { join } from "node:path";
import { StoreError } from "../lib/errors.js";
import { readChecked, writeChecked } from "./checked-file.js";
import { type StampRuns, stampClasses } from "./stamps.js";

/** A file beside the segments with the stamps given before the newest segment was begun. */
export const stampsFileName = "stamps.json";
const format = 1;

/** Null if there is no file. @throws StoreError INVALID for a newer format; Error if it is not as written */
export async function readStampRuns(dir: string): Promise<StampRuns | null> {
  const saved = (await readChecked(join(dir, stampsFileName))) as { format: number; runs: StampRuns } | null;
  if (saved === null) return null;
  if (saved.format > format) {
    throw new StoreError("INVALID", `cannot open the journal: ${stampsFileName} has format ${saved.format}`);
  }
  if (saved.runs.length !== stampClasses) throw new Error("it has other classes of stamps");
  return saved.runs;
}

/** Replaces the file and syncs it. */
export function writeStampRuns(dir: string, runs: StampRuns): Promise<void> {
  return writeChecked(dir, stampsFileName, { format, runs });
}
