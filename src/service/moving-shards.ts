/** Shards come to this process and go while it runs, as the nodes of the cluster agree. */
import { setTimeout as delay } from "node:timers/promises";
import type { BrokersReach } from "../../store/journal/kafka/brokers-reach.js";
import { sleep as systemSleep } from "../../store/lib/abortable.js";
import type { Clock } from "../../store/lib/clock.js";
import { asError } from "../../store/lib/errors.js";
import type { NodeIdentity } from "../../store/metadata/cluster/cluster-nodes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type BrokersWatch, watchBrokers } from "../cluster/brokers-watch.js";
import type { NeighbourNodes } from "../cluster/neighbours.js";
import { type ShardLeases, startShardLeases } from "../cluster/shard-leases.js";
import { aheadWaitMs, createShardsAhead } from "../cluster/shards-ahead.js";
import { nodeAnswers } from "../commands/node-calls.js";
import type { ClusterSettings } from "../config/cluster.js";
import type { Logger } from "../observability/log.js";
import type { ShardSet } from "./shard-set.js";

export interface MovingShards extends Pick<ShardLeases, "refresh" | "close"> {
  /** The other node that has the shard; null: none, or it is on its way. */
  holderOf(shard: number): number | null;
  /** Whether that has been looked at of late: if not, others may have taken what is here. */
  areHoldersKnown(): boolean;
  /** Another node is about to give the shard. */
  gives(node: number, shard: number): void;
  /** Another node is to give the shard, to this one if their plans are alike. False if copying it takes longer. */
  copyAhead(shard: number): Promise<boolean>;
  /** The shard's journal takes nothing more for good. */
  ended(shard: number, reason: Error): void;
}

interface MovingShardsDeps {
  readonly settings: ClusterSettings;
  readonly identity: NodeIdentity;
  /** How many there are. */
  readonly shards: number;
  readonly db: Db;
  /** Closed together with the returned object. */
  readonly brokers: BrokersReach;
  readonly set: Pick<ShardSet, "open" | "close" | "pipelines">;
  /** Copies a shard that is open elsewhere. */
  readonly copyShard: (shard: number, signal: AbortSignal) => Promise<void>;
  readonly cluster: Pick<NeighbourNodes, "others" | "call">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly fatal: (error: Error) => void;
  readonly sleep?: typeof systemSleep;
}

/** How often the shards are copied that this node has if another dies; what came since is left to copy then. */
const keepUpMs = 120_000;
/** After the start, when shards have come. */
const firstKeepUpMs = 15_000;

/** Announcements about a shard lose their value after this time: nodes then look by themselves. */
const announceMs = 1000;
/** How long to wait for the answer of a node. It answers earlier, if only to say that it still copies. */
const copyMs = 2 * aheadWaitMs;
/** How long to wait, before a shard is given, until the others know: they then wait for the node that gets it. */
const announceDelayMs = 250;
/** After this time from the announcement that a shard is about to be given, its node is asked again. */
const givingMsMax = 5000;

/** @throws ConfigError if another process has this node's number */
export async function startMovingShards(deps: MovingShardsDeps): Promise<MovingShards> {
  const { settings, identity, shards, db, brokers, set, copyShard, cluster, clock, log, fatal } = deps;
  const { sleep = systemSleep } = deps;
  const { self, nodes } = settings;

  /**
   * So that nodes that are to have a free shard, or wait for one that is open now, need not wait for their next beat.
   */
  function notifyOthers(body: object = { call: "shards" }): Promise<unknown> {
    // A node that does not answer looks by itself.
    return Promise.all(
      cluster.others.map((node) => cluster.call(node, body, announceMs).catch(() => undefined)),
    );
  }

  /** Shards that other nodes are about to give: requests for one wait for the node that gets it. */
  const given = new Map<number, { readonly node: number; readonly at: number }>();
  const isGiven = (shard: number, holder: number | null): boolean => {
    const found = given.get(shard);
    return found?.node === holder && clock.monotonic() - (found?.at ?? 0) < givingMsMax;
  };
  function seen(): void {
    for (const shard of given.keys()) if (!isGiven(shard, leases.holderOf(shard))) given.delete(shard);
    set.pipelines.look();
  }

  const ahead = createShardsAhead({ copy: copyShard, monotonic: clock.monotonic, log });

  /** Each node knows whether it is the one: a plan is made where it is followed. */
  async function copiedAhead(shard: number, takers: readonly number[], mostMs: number): Promise<boolean> {
    const answers = await Promise.all(
      takers.map((node) =>
        cluster
          .call(node, { call: "copyAhead", shard }, Math.min(mostMs, copyMs))
          // A node that does not answer copies the shard when it opens it.
          .catch(() => undefined),
      ),
    );
    return answers.every((answer) => nodeAnswers.safeParse(answer).data?.[0] !== false);
  }

  async function timed(what: string, shard: number, work: Promise<void>): Promise<void> {
    const startedAt = clock.monotonic();
    await work;
    log.info(what, { shard, ms: Math.round(clock.monotonic() - startedAt) });
  }

  /** A shard that was not closed in order is here no more either: it must not stay this node's. */
  async function closeWhatIsThere(shard: number): Promise<void> {
    try {
      await set.close(shard, "given");
    } catch (error) {
      log.error("a shard has not been closed in order", { shard, error: asError(error) });
    }
  }

  let watch: BrokersWatch | null = null;
  const leases = await startShardLeases({
    db,
    isAble: () => watch?.isAble !== false,
    shards,
    nodes: nodes.map(({ number }) => number),
    identity,
    clock,
    log,
    take: async (shard, signal) => {
      await ahead.end(shard);
      await timed("a shard is open", shard, set.open(shard, signal));
      void notifyOthers();
    },
    ahead: copiedAhead,
    give: async (shard) => {
      await Promise.race([notifyOthers({ call: "gives", node: self.number, shard }), delay(announceDelayMs)]);
      await timed("a shard is closed", shard, closeWhatIsThere(shard));
    },
    lost: (shard) => set.close(shard, "lost"),
    freed: () => void notifyOthers(),
    seen,
    replaced: () =>
      fatal(new Error(`another process is node ${self.number} now: each needs a number of its own`)),
  });

  watch = watchBrokers({ brokers, monotonic: clock.monotonic, log });

  const stopped = new AbortController();
  async function keepUp(): Promise<void> {
    await sleep(firstKeepUpMs, stopped.signal);
    while (!stopped.signal.aborted) {
      for (const shard of leases.successions()) {
        // The list may have changed while an earlier shard was copied.
        if (leases.successions().includes(shard)) await ahead.keepUp(shard);
      }
      await sleep(keepUpMs, stopped.signal);
    }
  }
  const keepingUp = keepUp();

  return {
    holderOf: (shard) => {
      const holder = leases.holderOf(shard);
      return holder === self.number || isGiven(shard, holder) ? null : holder;
    },
    areHoldersKnown: leases.areHoldersKnown,
    refresh: leases.refresh,
    copyAhead: async (shard) => {
      const isToGet = await leases.isToGet(shard);
      return isToGet === "now" ? ahead.copy(shard) : isToGet === "no";
    },
    close: async () => {
      stopped.abort();
      await ahead.close();
      await keepingUp;
      await leases.close();
      // Nothing more is seen of where they go.
      set.pipelines.endWaits();
      await watch?.close();
    },
    gives: (node, shard) => {
      if (shard < shards) given.set(shard, { node, at: clock.monotonic() });
    },
    ended: (shard, reason) => {
      log.warn("a shard's journal takes nothing more here", { shard, error: reason });
      void set
        .close(shard, "lost")
        .catch((error: unknown) => log.error("cannot close a shard", { shard, error }))
        .then(() => leases.dropped(shard));
    },
  };
}
