/** Small files of JSON beside the segments: a checksum, then the value. */
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { crc32c } from "../lib/crc32c.js";
import { syncFolder } from "./segment.js";

/** Null if there is no file. @throws Error if it is not as written */
export async function readChecked(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const line = text.slice(9).trimEnd();
  if (text.slice(0, 8) !== checksum(line)) throw new Error("its checksum is wrong");
  return JSON.parse(line);
}

/** Replaces the file and syncs it. */
export async function writeChecked(dir: string, name: string, value: unknown): Promise<void> {
  const path = join(dir, name);
  const line = JSON.stringify(value);
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
