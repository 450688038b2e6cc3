/** How one shard comes to this node, and goes. */

import { createBackOffs } from "../../store/lib/back-off.js";
import type { Clock } from "../../store/lib/clock.js";
import { asError } from "../../store/lib/errors.js";
import type { NodeIdentity } from "../../store/metadata/cluster/cluster-nodes.js";
import { freeShard, takeShard } from "../../store/metadata/cluster/shard-owners.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Logger } from "../observability/log.js";
import type { MetadataReach } from "./metadata-reach.js";
import type { Refusals } from "./refusals.js";
import type { ShardView } from "./shard-view.js";

/** What the service does with a shard. */
interface ShardHandlers {
  /**
   * Opens the shard, which is this node's from now on. If it rejects, nothing of the shard is left open; it may do so
   * once the signal is aborted: the shard is to go elsewhere.
   */
  take(shard: number, signal: AbortSignal): Promise<void>;
  /**
   * Before it is given: asks those that may get the shard whether one of them is to have it, and has it copied there while
   * it is open here. False: that takes longer than `mostMs`, or than a call may, and is to be asked again.
   */
  ahead(shard: number, takers: readonly number[], mostMs: number): Promise<boolean>;
  /** Closes the shard in order; another node may take it once this has resolved. */
  give(shard: number): Promise<void>;
  /** Closes the shard, which another node has taken. */
  lost(shard: number): Promise<void>;
  /** The shard is free: others may be notified. */
  freed?(shard: number): void;
}

export interface ShardStepsDeps extends ShardHandlers {
  readonly db: Pick<Db, "write">;
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The state of this node that the other nodes must know. */
export interface OwnState {
  readonly refusals: Pick<Refusals, "refuses" | "failed" | "worked">;
  /** Whether shards can be opened here at all. */
  isAble(): boolean;
  /** Writes all of it for the others. */
  say(): Promise<unknown>;
}

export interface Local {
  /** `claiming`: its row is being written; `opening`, `giving`, `losing`: the service works on it. */
  phase: "claiming" | "opening" | "open" | "giving" | "freeing" | "losing";
  /** It is to be open here no more: another has it, or its log has ended. */
  isLost: boolean;
  /** Ends an opening early. */
  readonly leaving: AbortController;
}

const delayMs = { first: 1000, longest: 60_000 } as const;

/** The steps with one shard, from one phase to the next. */
export function createShardSteps(
  deps: ShardStepsDeps,
  locals: Map<number, Local>,
  view: ShardView,
  reach: MetadataReach,
  { refusals, isAble, say }: OwnState,
) {
  const { db, identity, clock, log } = deps;
  /** Back-offs of shards that the service has dropped. */
  const dropBackOffs = createBackOffs<number>(delayMs, clock.monotonic);
  const giveBackOffs = createBackOffs<number>(delayMs, clock.monotonic);
  /** Closed here, and their rows are still to be freed. */
  const unfreed = new Set<number>();

  const enter = (shard: number, phase: Local["phase"]): Local => {
    const local = locals.get(shard) ?? { phase, isLost: false, leaving: new AbortController() };
    local.phase = phase;
    locals.set(shard, local);
    return local;
  };

  /** Writes the row, from exactly the holder that was seen. */
  async function claim(shard: number): Promise<boolean> {
    if (view.isOwn(shard)) return true;
    const taken = await reach.attempt(() =>
      takeShard(db, shard, { to: identity, from: view.holder(shard), now: clock.now() }),
    );
    if (taken !== true) return false;
    view.wrote(shard, identity);
    unfreed.delete(shard);
    return true;
  }

  async function free(shard: number): Promise<void> {
    enter(shard, "freeing");
    unfreed.add(shard);
    const freed = await reach.attempt(() => freeShard(db, shard, identity, clock.now()));
    if (freed !== null) unfreed.delete(shard);
    if (freed === true) view.wrote(shard, null);
    locals.delete(shard);
    if (freed === true) deps.freed?.(shard);
  }

  async function lose(shard: number, local: Local): Promise<void> {
    local.phase = "losing";
    log.warn("another node has taken a shard", { shard, node: view.nodeOf(shard) });
    try {
      await deps.lost(shard);
    } catch (error) {
      log.error("cannot close a shard that is lost", { shard, error: asError(error) });
    }
    locals.delete(shard);
  }

  /** A row that is still this node's keeps others from the shard, also if its log has ended. */
  const leave = (shard: number): Promise<void> | void =>
    view.isOwn(shard) ? free(shard) : void locals.delete(shard);

  return {
    free,
    lose,
    isUnfreed: (shard: number) => unfreed.has(shard),
    mayTake: (shard: number) => isAble() && !refusals.refuses(shard) && !dropBackOffs.isWaiting(shard),
    mayGive: (shard: number) => !giveBackOffs.isWaiting(shard),
    wait: (shard: number) => dropBackOffs.failed(shard),
    take: async (shard: number): Promise<void> => {
      const local = enter(shard, "claiming");
      if (!(await claim(shard)) || local.isLost) return void locals.delete(shard);
      local.phase = "opening";
      try {
        await deps.take(shard, local.leaving.signal);
      } catch (error) {
        if (local.leaving.signal.aborted) return leave(shard);
        refusals.failed(shard);
        log.warn("cannot open a shard", { shard, error: asError(error) });
        // First, so that the other nodes know of the refusal when they find the shard free.
        await say();
        return leave(shard);
      }
      if (local.isLost) return lose(shard, local);
      refusals.worked(shard);
      dropBackOffs.worked(shard);
      local.phase = "open";
    },
    give: async (shard: number): Promise<void> => {
      const local = enter(shard, "giving");
      try {
        await deps.give(shard);
      } catch (error) {
        giveBackOffs.failed(shard);
        log.warn("cannot hand over a shard", { shard, error: asError(error) });
        if (local.isLost) locals.delete(shard);
        else local.phase = "open";
        return;
      }
      giveBackOffs.worked(shard);
      return leave(shard);
    },
  };
}
