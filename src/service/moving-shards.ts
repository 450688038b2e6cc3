/** Shards come to this process and go while it runs, as the nodes of the cluster agree. */
import type { BrokersReach } from "../../store/journal/kafka/brokers-reach.js";
import type { Clock } from "../../store/lib/clock.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type BrokersWatch, watchBrokers } from "../cluster/brokers-watch.js";
import type { Cluster } from "../cluster/neighbours.js";
import { type ShardLeases, startShardLeases } from "../cluster/shard-leases.js";
import type { ClusterSettings } from "../config/cluster.js";
import { newOwner } from "../host/process-owner.js";
import type { Logger } from "../observability/log.js";
import type { ShardSet } from "./shard-set.js";

export interface MovingShards extends Pick<ShardLeases, "refresh" | "close"> {
  /** The other node that has the shard; null: none, or it is on its way. */
  holderOf(shard: number): number | null;
  /** The shard's journal takes nothing more for good. */
  ended(shard: number, reason: Error): void;
}

interface MovingShardsDeps {
  readonly settings: ClusterSettings;
  /** How many there are. */
  readonly shards: number;
  readonly db: Db;
  /** Is closed with what is returned. */
  readonly brokers: BrokersReach;
  readonly set: Pick<ShardSet, "open" | "close">;
  readonly cluster: Pick<Cluster, "others" | "call">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly fatal: (error: Error) => void;
}

/** What nodes are told of a shard that is free is worth little after that: they look by themselves then. */
const tellMs = 1000;

/** @throws ConfigError if another process has this node's number */
export async function startMovingShards(deps: MovingShardsDeps): Promise<MovingShards> {
  const { settings, shards, db, brokers, set, cluster, clock, log, fatal } = deps;
  const { self, nodes } = settings;

  /** Whoever is to have the shard need not wait for its next beat. */
  function tellOthers(): void {
    for (const node of cluster.others) {
      // A node that does not answer looks by itself.
      cluster.call(node, { call: "shards" }, tellMs).catch(() => undefined);
    }
  }

  async function timed(what: string, shard: number, work: Promise<void>): Promise<void> {
    const startedAt = clock.monotonic();
    await work;
    log.info(what, { shard, ms: Math.round(clock.monotonic() - startedAt) });
  }

  let watch: BrokersWatch | null = null;
  const leases = await startShardLeases({
    db,
    isAble: () => watch?.isAble !== false,
    shards,
    nodes: nodes.map(({ number }) => number),
    identity: { number: self.number, owner: newOwner() },
    clock,
    log,
    take: (shard) => timed("a shard is open", shard, set.open(shard)),
    give: (shard) => timed("a shard is closed", shard, set.close(shard)),
    lost: set.close,
    freed: tellOthers,
    replaced: () =>
      fatal(new Error(`another process is node ${self.number} now: each needs a number of its own`)),
  });

  watch = watchBrokers({ brokers, monotonic: clock.monotonic, log });

  return {
    holderOf: (shard) => {
      const holder = leases.holderOf(shard);
      return holder === self.number ? null : holder;
    },
    refresh: leases.refresh,
    close: async () => {
      await leases.close();
      await watch?.close();
    },
    ended: (shard, reason) => {
      log.warn("a shard's journal takes nothing more here", { shard, error: reason });
      void set
        .close(shard)
        .catch((error: unknown) => log.error("cannot close a shard", { shard, error }))
        .then(() => leases.dropped(shard));
    },
  };
}
