import { type ByShard, openShards } from "../ingest/directory/by-shard.js";
import type { Directory } from "../ingest/directory/directory.js";

/** As many shards as there are parts, numbered from 0, all of them here. */
export function shardsOf<T>(parts: readonly T[], directory: Pick<Directory, "get" | "peek">): ByShard<T> {
  const shards = openShards<T>({ numbers: parts.map((_, i) => i), holderOf: () => null, directory });
  for (const [i, part] of parts.entries()) shards.add(i, part);
  return shards;
}
