import type { Config } from "../config/config.js";

/**
 * A shard's part of bytes that are a node's: they are for as many shards as a node has while all nodes are there. So what
 * else is here, or is away elsewhere, changes nothing for a shard.
 */
export function shardPart(bytes: number, { shards, cluster }: Pick<Config, "shards" | "cluster">): number {
  const nodes = cluster?.nodes.length ?? 1;
  return Math.floor(bytes / Math.ceil(shards.length / nodes));
}
