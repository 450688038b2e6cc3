import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { hashFile, type Throttle, unthrottled } from "../../store/files/copy-file.js";
import { asError } from "../../store/lib/errors.js";
import { pathsBelow } from "./copying.js";
import { type Manifest, manifestName, readManifest } from "./manifest.js";

export const isBackup = (dir: string): boolean => existsSync(join(dir, manifestName));

/**
 * Reads every byte of a backup; calls `onFault` for each file that differs from the manifest. Null: the manifest cannot
 * be read.
 */
export async function verifyBackup(
  dir: string,
  onFault: (file: string, fault: string) => void,
  throttle: Throttle = unthrottled,
): Promise<Manifest | null> {
  let manifest: Manifest;
  try {
    manifest = await readManifest(dir);
  } catch (error) {
    onFault(join(dir, manifestName), asError(error).message);
    return null;
  }
  const listed = new Map(manifest.files.map((file) => [file.path, file]));
  const there = new Set(await pathsBelow(dir));
  for (const path of there) {
    // A reader of a database leaves them behind, with nothing in them.
    const found = lstatSync(join(dir, path));
    const isEmptyLog =
      found.isFile() && (path.endsWith("-shm") || (path.endsWith("-wal") && found.size === 0));
    if (!listed.has(path) && !isEmptyLog) onFault(join(dir, path), "it is not of this backup");
  }
  for (const { path, bytes, sha256 } of manifest.files) {
    if (!there.has(path)) {
      onFault(join(dir, path), "it is missing");
      continue;
    }
    // A pipe would be waited for, and a link leads elsewhere.
    if (!lstatSync(join(dir, path)).isFile()) {
      onFault(join(dir, path), "it is not a file");
      continue;
    }
    const found = await hashFile(join(dir, path), throttle).catch((error: unknown) => asError(error).message);
    if (typeof found === "string") onFault(join(dir, path), found);
    else if (found.bytes !== bytes)
      onFault(join(dir, path), `it has ${found.bytes} bytes in place of ${bytes}`);
    else if (found.sha256 !== sha256) onFault(join(dir, path), "its checksum differs");
  }
  return manifest;
}

/** Whether nothing in it is a link, a pipe or a device. */
export async function holdsFilesAlone(dir: string): Promise<boolean> {
  return (await pathsBelow(dir)).every((path) => lstatSync(join(dir, path)).isFile());
}
