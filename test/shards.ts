import { type ByShard, openShards } from "../ingest/directory/by-shard.js";
import type { Directory } from "../ingest/directory/directory.js";

const allHere = { of: () => null, areKnown: () => true };

/** As many shards as there are parts, numbered from 0, all of them here. */
export function shardsOf<T>(parts: readonly T[], directory: Pick<Directory, "get" | "peek">): ByShard<T> {
  const shards = openShards<T>({ numbers: parts.map((_, i) => i), holders: allHere, directory });
  for (const [i, part] of parts.entries()) shards.add(i, part);
  return shards;
}
