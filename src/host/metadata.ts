import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDamage } from "../../store/files/database-faults.js";
import { findFault } from "../../store/files/database-file.js";
import { asError } from "../../store/lib/errors.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { type Config, ConfigError } from "../config/config.js";
import { shardFolders } from "./shard-folders.js";

/** Where a deployment's metadata are: in a remote or shared libSQL, or in a file of the data folder. */
export function metadataAddress(config: Config): { readonly url: string; readonly authToken?: string } {
  if (config.libsql === null) return { url: pathToFileURL(join(config.dataDir, "metadata.db")).href };
  const { url, authToken } = config.libsql;
  return { url, ...(authToken === null ? {} : { authToken }) };
}

/** The metadata's file in the data folder, null if the metadata are elsewhere. */
export function metadataFile(config: Config): string | null {
  return config.libsql === null ? join(config.dataDir, "metadata.db") : null;
}

/**
 * Opens the metadata, which cannot be rebuilt from anything else.
 * @throws ConfigError naming the file if it is damaged, or gone from a folder that holds the rest
 */
export async function openMetadata(config: Config): Promise<Db> {
  const path = metadataFile(config);
  if (path === null) return openDb({ ...metadataAddress(config), shared: true });
  const fault = (await findFault(path)) ?? (await whyGone(config, path));
  if (fault !== null) throw damaged(path, fault);
  try {
    return await openDb({ ...metadataAddress(config), shared: false });
  } catch (error) {
    throw isDamage(error) ? damaged(path, asError(error).message) : error;
  }
}

/** An empty file means a new deployment, unless messages have already been kept. */
async function whyGone({ dataDir }: Config, path: string): Promise<string | null> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > 0) return null;
  const journal = await journalWithMessages(dataDir);
  return journal === null ? null : `it is missing or empty, but ${messagesThere(journal)}`;
}

/** @throws ConfigError if there is a journal but metadata without a tenant: a first start makes both */
export async function refuseEmptied(config: Config): Promise<void> {
  const path = metadataFile(config);
  const journal = path === null ? null : await journalWithMessages(config.dataDir);
  if (path === null || journal === null) return;
  throw damaged(path, `it holds no tenant, but ${messagesThere(journal)}`);
}

/** The first journal of the folder, whichever shard's it is, that holds anything. */
async function journalWithMessages(dataDir: string): Promise<string | null> {
  for (const folder of await shardFolders(dataDir)) {
    const journal = join(dataDir, folder, "journal");
    if ((await readdir(journal).catch(() => [])).length > 0) return journal;
  }
  return null;
}

const messagesThere = (journal: string): string => `${journal} holds messages of its devices`;

function damaged(path: string, fault: string): ConfigError {
  return new ConfigError([
    `cannot open the metadata ${path}: ${fault}. It cannot be made again: restore it from a backup (docs/damaged-files.md)`,
  ]);
}
