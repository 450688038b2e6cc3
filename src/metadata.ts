import { join } from "node:path";
import { type Db, openDb } from "../store/db.js";
import type { Config } from "./config.js";

/** The metadata of a deployment: a remote or shared libSQL, or a file of the data folder. */
export function openMetadata(config: Config): Promise<Db> {
  if (config.libsql === null) {
    return openDb({ url: `file:${join(config.dataDir, "metadata.db")}`, shared: false });
  }
  const { url, authToken } = config.libsql;
  return openDb({ url, shared: true, ...(authToken === null ? {} : { authToken }) });
}
