/** A data folder stays with the nodes among which its devices were shared out. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Config, ConfigError } from "../config/config.js";
import { replaceFile } from "./replace-file.js";

/**
 * Stores the set of nodes in the folder.
 * @throws ConfigError if it changed: a device's owner depends on it, and data at an earlier owner would be out of
 * reach
 */
export async function keepClusterNumbers({
  dataDir,
  cluster,
  journal,
}: Pick<Config, "dataDir" | "cluster" | "journal">): Promise<void> {
  // What a topic keeps is no folder's: its shards may be dealt out anew.
  if (journal !== null) return;
  const path = join(dataDir, "cluster.json");
  const now = cluster === null ? "" : JSON.stringify(cluster.nodes.map(({ number }) => number));
  const before = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (before === now || (before === null && now === "")) return;
  if (before !== null) {
    const wanted = before.replaceAll(/[^\d,]/g, "").replaceAll(",", ", ");
    throw new ConfigError([
      `CLUSTER_NODES: ${path} says that this folder's devices are shared by nodes ${wanted}: name these`,
    ]);
  }
  await replaceFile(path, now);
}
