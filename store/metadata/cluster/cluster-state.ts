import type { Db } from "../db/db.js";
import type { NodeBeat, NodeIdentity } from "./cluster-nodes.js";

export interface NodeState extends NodeBeat {
  /** It hands over what it has, and stops. */
  readonly isLeaving: boolean;
}

export interface ClusterState {
  readonly nodes: readonly NodeState[];
  /** By shard: who is to have it. Those that are absent are free. */
  readonly holders: ReadonlyMap<number, NodeIdentity>;
}

/** All of one moment. */
export async function readClusterState(db: Pick<Db, "snapshot">): Promise<ClusterState> {
  const [nodes = [], shards = []] = await db.snapshot([
    { sql: "select number, owner, beat, leaving from cluster_node order by number" },
    { sql: "select shard, node, owner from shard_owner where node is not null" },
  ]);
  return {
    nodes: (nodes as (NodeBeat & { readonly leaving: number })[]).map(({ number, owner, beat, leaving }) => ({
      number,
      owner,
      beat,
      isLeaving: leaving === 1,
    })),
    holders: new Map(
      (shards as { shard: number; node: number; owner: string }[]).map(({ shard, node, owner }) => [
        shard,
        { number: node, owner },
      ]),
    ),
  };
}
