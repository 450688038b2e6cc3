/** Ids are shard × 2^43 + sequence, so that those of shards never meet and stay exact in a double. */
export const idsPerShard = 2 ** 43;

/** The shard, 0 to 999, whose journal gave the id. */
export function shardOfID(id: number): number {
  return Math.floor(id / idsPerShard);
}
