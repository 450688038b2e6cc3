import { dirname, resolve } from "node:path";
import { isArchive, withUnpacked } from "../backup/archive.js";
import { verifyFolder } from "../backup/verify-folder.js";
import type { Config } from "../config/config.js";

export const verifyUsage = "tidemark verify [folder | backup | file.tar.gz]";

/** @returns what was read, and what was found; the process ends with 1 if that is anything */
export async function verifyTool([folder, ...more]: readonly string[], config: Config): Promise<unknown> {
  if (more.length > 0) throw new Error(`usage: ${verifyUsage}`);
  const path = folder ?? config.dataDir;
  const hasMetadata = config.libsql === null;
  const verified = isArchive(path)
    ? await withUnpacked(path, dirname(resolve(path)), (dir) => verifyFolder(dir, hasMetadata))
    : await verifyFolder(path, hasMetadata);
  if (!verified.sound) process.exitCode = 1;
  return verified;
}
