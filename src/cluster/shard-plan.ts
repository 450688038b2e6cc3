/**
 * Which shards a node takes and which it gives, so that all of them are held and each node has as many as any other, or
 * one more, as far as nodes take them. It follows from what every node sees alike: two that have read the same never take
 * the same shard.
 */

export interface SharingNode {
  readonly number: number;
  /** Shards that it does not want for the time being, since it could not open them. */
  readonly refuses: ReadonlySet<number>;
}

export interface ShardPicture {
  /** The nodes that share the shards. */
  readonly sharing: readonly SharingNode[];
  /**
   * Nodes that are to have none, for they are about to stop or cannot keep anything: what they hold stays theirs until
   * they have given it.
   */
  readonly emptying: readonly number[];
  /** By shard. A shard of nobody, or of a node that is neither sharing nor emptying, is free. */
  readonly holders: readonly (number | null)[];
  /** The node that the plan is for. */
  readonly self: number;
}

export interface ShardPlan {
  /** Free ones that are to be this node's. */
  readonly take: readonly number[];
  /** Those that it has, and that another is to have. */
  readonly give: readonly number[];
  /** Those that others have and are to give, and that are to be this node's then. */
  readonly get: readonly number[];
}

/** A node as it will be: with what comes to it, and without what it gives. */
interface Filling extends SharingNode {
  count: number;
  /** The shards that it holds now and keeps. */
  readonly kept: number[];
}

export function planShards({ sharing, emptying, holders, self }: ShardPicture): ShardPlan {
  const nodes: Filling[] = sharing
    .map(({ number, refuses }) => ({ number, refuses, count: 0, kept: [] }))
    .toSorted((a, b) => a.number - b.number);
  const free: number[] = [];
  const emptied: number[] = [];
  for (const [shard, holder] of holders.entries()) {
    const node = nodes.find(({ number }) => number === holder);
    if (node !== undefined) {
      node.kept.push(shard);
      node.count++;
    } else if (holder !== null && emptying.includes(holder)) emptied.push(shard);
    else free.push(shard);
  }
  const take = assign(free, nodes).flatMap(({ shard, to }) => (to === self ? [shard] : []));
  const given = [
    ...assign(emptied, nodes).map(({ shard, to }) => ({ shard, from: holders[shard], to })),
    ...level(nodes),
  ];
  const ascending = (shards: readonly number[]): readonly number[] => shards.toSorted((a, b) => a - b);
  return {
    take: ascending(take),
    give: ascending(given.flatMap(({ shard, from }) => (from === self ? [shard] : []))),
    get: ascending(given.flatMap(({ shard, to }) => (to === self ? [shard] : []))),
  };
}

/** Shards of other nodes that this one takes if the node that has them goes without a word. */
export function successions(picture: ShardPicture): readonly number[] {
  const { sharing, holders, self } = picture;
  const others = sharing.filter(({ number }) => number !== self);
  const taken = others.flatMap(({ number: gone }) => {
    const plan = planShards({
      ...picture,
      sharing: sharing.filter(({ number }) => number !== gone),
      holders: holders.map((holder) => (holder === gone ? null : holder)),
    });
    return plan.take.filter((shard) => holders[shard] === gone);
  });
  return taken.toSorted((a, b) => a - b);
}

/**
 * Each shard goes to the node with the fewest of those that take it, the first by number; to nobody if all refuse it.
 * Those that few nodes take come first: others find a place anywhere.
 */
function assign(shards: readonly number[], nodes: readonly Filling[]): { shard: number; to: number }[] {
  const listTakers = (shard: number) => nodes.filter(({ refuses }) => !refuses.has(shard));
  return shards
    .map((shard) => ({ shard, takers: listTakers(shard) }))
    .toSorted((a, b) => a.takers.length - b.takers.length || a.shard - b.shard)
    .flatMap(({ shard, takers }) => {
      const to = findLeastFilled(takers);
      if (to === undefined) return [];
      to.count++;
      return [{ shard, to: to.number }];
    });
}

function findLeastFilled(nodes: readonly Filling[]): Filling | undefined {
  return nodes.reduce<Filling | undefined>(
    (least, node) => (least === undefined || node.count < least.count ? node : least),
    undefined,
  );
}

interface Given {
  readonly shard: number;
  readonly from: number;
  readonly to: number;
}

/** The fullest gives to the emptiest that takes something of it, as long as that has two fewer at least. */
function level(nodes: readonly Filling[]): Given[] {
  const given: Given[] = [];
  const givers = new Set(nodes);
  while (givers.size > 0) {
    const from = [...givers].reduce((most, node) => (node.count > most.count ? node : most));
    const one = giveOne(from, nodes);
    if (one === undefined) givers.delete(from);
    else given.push(one);
  }
  return given;
}

function giveOne(from: Filling, nodes: readonly Filling[]): Given | undefined {
  const emptier = nodes.filter(({ count }) => count <= from.count - 2).toSorted((a, b) => a.count - b.count);
  for (const to of emptier) {
    const at = from.kept.findLastIndex((shard) => !to.refuses.has(shard));
    if (at < 0) continue;
    from.count--;
    to.count++;
    return from.kept.splice(at, 1).map((shard) => ({ shard, from: from.number, to: to.number }))[0];
  }
  return undefined;
}
