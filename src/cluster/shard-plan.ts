/**
 * Which shards a node takes and which it gives, so that all of them are held and each node has as many as any other, or
 * one more. It follows from what every node sees alike: two that have read the same never take the same shard.
 */

export interface ShardPicture {
  /** The nodes that share the shards. */
  readonly alive: readonly number[];
  /** Nodes about to stop: what they hold stays theirs until they have given it, and they get nothing. */
  readonly leaving: readonly number[];
  /** By shard. A shard of nobody, or of a node that is neither alive nor leaving, is free. */
  readonly holders: readonly (number | null)[];
  /** The node that the plan is for. */
  readonly self: number;
}

export interface ShardPlan {
  /** Free ones that are to be this node's. */
  readonly take: readonly number[];
  /** Those that it has beyond its share. */
  readonly give: readonly number[];
}

export function planShards({ alive, leaving, holders, self }: ShardPicture): ShardPlan {
  const counts = new Map(alive.toSorted((a, b) => a - b).map((node) => [node, 0]));
  for (const holder of holders) if (holder !== null) raise(counts, holder);
  const shares = fairShares(counts, holders.length);
  const held = shardsOf(holders, (holder) => holder === self);
  const free = shardsOf(
    holders,
    (holder) => holder === null || !(counts.has(holder) || leaving.includes(holder)),
  );
  return {
    take: free.filter(() => assignNext(counts, shares) === self),
    give: held.slice(shares.get(self) ?? 0),
  };
}

/** How many each node is to have. The nodes with the most have the one more, so that as few as possible move. */
function fairShares(counts: ReadonlyMap<number, number>, shards: number): ReadonlyMap<number, number> {
  const least = Math.floor(shards / counts.size);
  const withMore = shards % counts.size;
  const fullestFirst = [...counts].toSorted(([a, ofA], [b, ofB]) => ofB - ofA || a - b);
  return new Map(fullestFirst.map(([node], i) => [node, i < withMore ? least + 1 : least]));
}

/** The node that gets the next free shard: of those below their share the one with the fewest, the first by number. */
function assignNext(counts: Map<number, number>, shares: ReadonlyMap<number, number>): number | null {
  let next: number | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const [node, count] of counts) {
    if (count >= fewest || count >= (shares.get(node) ?? 0)) continue;
    next = node;
    fewest = count;
  }
  if (next !== null) raise(counts, next);
  return next;
}

function raise(counts: Map<number, number>, node: number): void {
  const count = counts.get(node);
  if (count !== undefined) counts.set(node, count + 1);
}

function shardsOf(
  holders: readonly (number | null)[],
  isOne: (holder: number | null) => boolean,
): readonly number[] {
  return holders.flatMap((holder, shard) => (isOne(holder) ? [shard] : []));
}
