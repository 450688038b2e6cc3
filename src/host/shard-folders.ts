import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config/config.js";

/** Holds a folder for each shard, named by its number. */
export const shardsFolder = "shards";

/** Where a shard's files are. A process that has one for good keeps them in the data folder itself. */
export function shardDir(
  { dataDir, journal, ownShards }: Pick<Config, "dataDir" | "journal" | "ownShards">,
  number: number,
): string {
  return journal === null && ownShards?.length === 1 ? dataDir : join(dataDir, shardsFolder, String(number));
}

/** The folders, seen from a data folder, in which files of a shard may be: itself, and one for each of several. */
export async function shardFolders(dataDir: string): Promise<string[]> {
  const names = await readdir(join(dataDir, shardsFolder)).catch(() => []);
  const numbers = names.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(a) - Number(b));
  return [".", ...numbers.map((number) => join(shardsFolder, number))];
}
