import type { Db } from "../db/db.js";
import type { NodeBeat, NodeIdentity, NodeLacks } from "./cluster-nodes.js";

export interface NodeState extends NodeBeat, Pick<NodeLacks, "isAble"> {
  readonly refuses: ReadonlySet<number>;
  /** It hands over what it has, and stops. */
  readonly isLeaving: boolean;
}

export interface ClusterState {
  readonly nodes: readonly NodeState[];
  /** By shard: who is to have it. Those that are absent are free. */
  readonly holders: ReadonlyMap<number, NodeIdentity>;
}

interface NodeRow extends NodeBeat {
  readonly leaving: number;
  readonly able: number;
  readonly refuses: string;
}

/** All of one moment. */
export async function readClusterState(db: Pick<Db, "snapshot">): Promise<ClusterState> {
  const [nodes = [], shards = []] = await db.snapshot([
    { sql: "select number, owner, beat, leaving, able, refuses from cluster_node order by number" },
    { sql: "select shard, node, owner from shard_owner where node is not null" },
  ]);
  return {
    nodes: (nodes as NodeRow[]).map(({ number, owner, beat, leaving, able, refuses }) => ({
      number,
      owner,
      beat,
      isLeaving: leaving === 1,
      isAble: able === 1,
      refuses: new Set(JSON.parse(refuses) as number[]),
    })),
    holders: new Map(
      (shards as { shard: number; node: number; owner: string }[]).map(({ shard, node, owner }) => [
        shard,
        { number: node, owner },
      ]),
    ),
  };
}
