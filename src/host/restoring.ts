import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../config/config.js";

/** A file that stands in a data folder while a backup is put into it. */
export const restoringMark = "restoring";

/** @throws ConfigError for a folder whose restore was not finished */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, restoringMark))) return;
  throw new ConfigError([
    `DATA_DIR: the restore into ${dataDir} was not finished: run tidemark restore again`,
  ]);
}
