/** The owners of shards, as this node knows them: what it has read, and what it has written itself since. */
import type { NodeIdentity } from "../../store/metadata/cluster/cluster-nodes.js";
import type { ClusterState, NodeState } from "../../store/metadata/cluster/cluster-state.js";
import { createNodeWatch } from "./node-watch.js";
import type { ShardPicture } from "./shard-plan.js";

export interface ShardView {
  /** A look begins; its result goes to `see`. */
  beginRead(): void;
  see(state: ClusterState): void;
  /** A look has failed. */
  miss(): void;
  /** This node has written who has the shard. */
  wrote(shard: number, holder: NodeIdentity | null): void;
  /** The node that is to have the shard, alive or not; null: none. */
  holder(shard: number): NodeIdentity | null;
  isOwn(shard: number): boolean;
  ownShards(): readonly number[];
  /** The node that has the shard and is there. */
  nodeOf(shard: number): number | null;
  picture(): ShardPicture;
  /** The other nodes that are there and share the shards. */
  takers(): readonly number[];
}

interface ShardViewDeps {
  /** How many there are. */
  readonly shards: number;
  /** The numbers of all nodes that there may be. */
  readonly nodes: readonly number[];
  readonly identity: NodeIdentity;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

const none: ReadonlySet<number> = new Set();

export function createShardView({ shards, nodes, identity, monotonic }: ShardViewDeps): ShardView {
  const self = identity.number;
  const watch = createNodeWatch(nodes, self, monotonic);
  const holders = new Map<number, NodeIdentity>();
  /** By shard: the last look that had begun when this node wrote. That look may have seen what was before. */
  const writtenIn = new Map<number, number>();
  let reads = 0;
  const numbers = Array.from({ length: shards }, (_, shard) => shard);

  function note(shard: number, holder: NodeIdentity | null): void {
    if (holder === null) holders.delete(shard);
    else holders.set(shard, holder);
  }

  const isOwn = (shard: number): boolean => {
    const holder = holders.get(shard);
    return holder?.number === self && holder.owner === identity.owner;
  };

  const nodeOf = (shard: number): number | null => {
    if (isOwn(shard)) return self;
    const holder = holders.get(shard);
    // A shard of a process that was there before, with the same number, is nobody's.
    return holder !== undefined && watch.find(holder.number)?.owner === holder.owner ? holder.number : null;
  };

  const picture = (): ShardPicture => {
    const own = watch.find(self);
    // Once it stops it follows no plan any more.
    const here = {
      number: self,
      refuses: own?.refuses ?? none,
      isAble: own?.isAble ?? true,
      isLeaving: false,
    };
    const there = [here, ...nodes.flatMap((number) => (number === self ? [] : (watch.find(number) ?? [])))];
    const isSharing = ({
      isAble,
      isLeaving: isShuttingDown,
    }: Pick<NodeState, "isAble" | "isLeaving">): boolean => isAble && !isShuttingDown;
    return {
      sharing: there.filter(isSharing),
      emptying: there.filter((one) => !isSharing(one)).map(({ number }) => number),
      holders: numbers.map(nodeOf),
      self,
    };
  };

  return {
    beginRead: () => {
      reads++;
    },
    see: (state) => {
      watch.see(state.nodes);
      for (const shard of numbers) {
        if (writtenIn.get(shard) === reads) continue;
        note(shard, state.holders.get(shard) ?? null);
      }
    },
    miss: () => watch.miss(),
    wrote: (shard, holder) => {
      note(shard, holder);
      writtenIn.set(shard, reads);
    },
    holder: (shard) => holders.get(shard) ?? null,
    isOwn,
    ownShards: () => numbers.filter(isOwn),
    nodeOf,
    picture,
    takers: () => picture().sharing.flatMap(({ number }) => (number === self ? [] : [number])),
  };
}
