import { join } from "node:path";
import { type Db, openDb } from "../store/db.js";
import type { Config } from "./config.js";

/** Where the metadata of a deployment lies: a remote or shared libSQL, or a file of the data folder. */
export function metadataAddress(config: Config): { readonly url: string; readonly authToken?: string } {
  if (config.libsql === null) return { url: `file:${join(config.dataDir, "metadata.db")}` };
  const { url, authToken } = config.libsql;
  return { url, ...(authToken === null ? {} : { authToken }) };
}

export function openMetadata(config: Config): Promise<Db> {
  return openDb({ ...metadataAddress(config), shared: config.libsql !== null });
}
