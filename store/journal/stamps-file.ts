import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { crc32c } from "../lib/crc32c.js";
import { StoreError } from "../lib/errors.js";
import { syncFolder } from "./segment.js";
import { type StampRuns, stampClasses } from "./stamps.js";

/** A file beside the segments with the stamps given before the newest segment was begun: a checksum, then JSON. */
export const stampsFileName = "stamps.json";
const format = 1;

/** Null if there is no file. @throws StoreError INVALID for a newer format; Error if it is not as written */
export async function readStampRuns(dir: string): Promise<StampRuns | null> {
  let text: string;
  try {
    text = await readFile(join(dir, stampsFileName), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const line = text.slice(9).trimEnd();
  if (text.slice(0, 8) !== checksum(line)) throw new Error("its checksum is wrong");
  const saved = JSON.parse(line) as { format: number; runs: StampRuns };
  if (saved.format > format) {
    throw new StoreError("INVALID", `cannot open the journal: ${stampsFileName} has format ${saved.format}`);
  }
  if (saved.runs.length !== stampClasses) throw new Error("it has other classes of stamps");
  return saved.runs;
}

/** Replaces the file and syncs it. */
export async function writeStampRuns(dir: string, runs: StampRuns): Promise<void> {
  const path = join(dir, stampsFileName);
  const line = JSON.stringify({ format, runs });
  const file = await open(`${path}.new`, "w", 0o600);
  try {
    await file.writeFile(`${checksum(line)} ${line}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncFolder(dir);
}

const checksum = (line: string): string => crc32c(Buffer.from(line)).toString(16).padStart(8, "0");
