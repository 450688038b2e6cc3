/**
 * The nodes that are to have the shards, agreed by rows of the shared metadata. They decide who tries: that no two
 * nodes write to a shard is the work of its log.
 */
import { sleep as systemSleep } from "../../store/lib/abortable.js";
import { createLock } from "../../store/lib/scheduling.js";
import { beatNode, markLeaving, removeNode } from "../../store/metadata/cluster/cluster-nodes.js";
import { readClusterState } from "../../store/metadata/cluster/cluster-state.js";
import type { Db } from "../../store/metadata/db/db.js";
import { createCutOff } from "./cut-off.js";
import { createMetadataReach, type MetadataReach } from "./metadata-reach.js";
import { takeOwnNumber } from "./node-number.js";
import { beatMs, deadMs } from "./node-watch.js";
import { createRefusals } from "./refusals.js";
import { createShardMoves } from "./shard-moves.js";
import { planShards, successions } from "./shard-plan.js";
import type { ShardStepsDeps } from "./shard-steps.js";
import { createShardView } from "./shard-view.js";

export interface ShardLeases {
  /** The node that has the shard; null: nobody, or it is on its way. */
  holderOf(shard: number): number | null;
  /** Whether that has been looked at so lately that no other node can have taken what this one has since. */
  areHoldersKnown(): boolean;
  /** The service has closed the shard, since its log says that another node has it. */
  dropped(shard: number): void;
  /** Shards of other nodes that this one is to have should those be gone: none while it could not take any. */
  successions(): readonly number[];
  /** Looks now instead of at the next beat, because another node has freed a shard for instance. */
  refresh(): Promise<void>;
  /**
   * Looks now. Whether another node has the shard, and this one is to have it. `later`: what this one had of it is still
   * being closed.
   */
  isToGet(shard: number): Promise<"no" | "later" | "now">;
  /** Gives all shards, one after the other, and is gone for the others. */
  close(): Promise<void>;
}

interface ShardLeasesDeps extends Omit<ShardStepsDeps, "db"> {
  readonly db: Pick<Db, "write" | "snapshot">;
  /** Whether this node reaches what keeps the shards' journals: while it does not, and another does, it has none. */
  readonly isAble: () => boolean;
  /** How many there are. */
  readonly shards: number;
  /** The numbers of all nodes, this one's among them. */
  readonly nodes: readonly number[];
  /** It has been looked at who has which shard. */
  seen?(): void;
  /** Another process has taken this one's number while it did not beat: this one is to end. */
  replaced(): void;
  readonly sleep?: typeof systemSleep;
}

/** Others take what a node has once they have seen no beat of it for `deadMs`; it beats before it looks. */
const knownMs = deadMs - beatMs;

/** Resolves after the first look, with shards on their way. @throws ConfigError if another process has the number */
export async function startShardLeases(deps: ShardLeasesDeps): Promise<ShardLeases> {
  const { db, shards, nodes, identity, clock, log, isAble, sleep = systemSleep } = deps;
  await takeOwnNumber({ db, identity, sleep });
  const reach = createMetadataReach(log);
  const view = createShardView({ shards, nodes, identity, monotonic: clock.monotonic });
  const refusals = createRefusals(clock.monotonic);
  const moves = createShardMoves(deps, view, reach, { refusals, isAble, say });
  const cutOff = createCutOff(clock.monotonic);
  let wasAble = true;
  /** The process is about to stop, and has not yet announced this to the others. */
  let mustMarkShutdown = false;
  const stopped = new AbortController();
  const runExclusive = createLock();
  /** When the last look began that has had an answer. */
  let seenAt = Number.NEGATIVE_INFINITY;
  /** The shards that other nodes are to give to this one, as of the last look. */
  let coming: readonly number[] = [];

  async function look(): Promise<void> {
    view.beginRead();
    const begunAt = clock.monotonic();
    const state = await reach.attempt(() => readClusterState(db));
    if (state === null) return view.miss();
    reach.isBack();
    view.see(state);
    seenAt = begunAt;
    const picture = view.picture();
    const plan = planShards(picture);
    coming = plan.get;
    const isCutOff = !isAble() && picture.sharing.length > 0 && picture.emptying.includes(identity.number);
    moves.follow(isCutOff ? { ...plan, take: [], give: [] } : plan);
    if (cutOff.hasLasted(isCutOff)) moves.giveUp(plan.give);
    deps.seen?.();
  }

  /** Says that this node is there, and what it cannot do; false: another process has its number; null: not now. */
  function say(): Promise<boolean | null> {
    const isAbleNow = isAble();
    // What could not be opened while the brokers were away can be now.
    if (isAbleNow && !wasAble) refusals.clear();
    wasAble = isAbleNow;
    const lacks = { isAble: isAbleNow, refuses: refusals.list(view.picture()) };
    return reach.attempt(() => beatNode(db, identity, lacks));
  }

  /** Until the others know, their plans have this node as one of those that take shards. */
  async function markShutdown(): Promise<void> {
    if (await done(reach, () => markLeaving(db, identity))) mustMarkShutdown = false;
  }

  async function beat(): Promise<void> {
    const isOwn = await say();
    if (isOwn === null) return view.miss();
    if (isOwn && mustMarkShutdown) await markShutdown();
    if (isOwn) return look();
    stopped.abort();
    log.error("another process has taken this node's number: its shards are closed", {
      node: identity.number,
    });
    moves.loseAll();
    deps.replaced();
  }

  async function keepBeating(): Promise<void> {
    while (!stopped.signal.aborted) {
      await sleep(beatMs, stopped.signal);
      if (!stopped.signal.aborted) await runExclusive(beat);
    }
  }

  const refresh = (): Promise<void> =>
    runExclusive(async () => (stopped.signal.aborted ? undefined : look()));

  await runExclusive(look);
  const beating = keepBeating();
  let closing: Promise<void> | null = null;
  async function close(): Promise<void> {
    // Beats continue until then: others leave the shards to this node until it has given them.
    if (!stopped.signal.aborted) {
      mustMarkShutdown = true;
      await markShutdown();
      await moves.giveAll();
    }
    await moves.settled();
    stopped.abort();
    await beating;
    await runExclusive(async () => void (await done(reach, () => removeNode(db, identity))));
  }

  return {
    holderOf: (shard) => (view.isOwn(shard) && !moves.isOpen(shard) ? null : view.nodeOf(shard)),
    areHoldersKnown: () => clock.monotonic() - seenAt < knownMs,
    dropped: (shard) => moves.dropped(shard),
    refresh,
    successions: () => {
      const isIdle = closing !== null || reach.isAway || !isAble();
      return isIdle ? [] : successions(view.picture()).filter((shard) => !moves.isHere(shard));
    },
    isToGet: async (shard) => {
      await refresh();
      if (closing !== null || reach.isAway || !coming.includes(shard)) return "no";
      return moves.isHere(shard) ? "later" : "now";
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** False: the metadata cannot be reached. */
async function done(reach: MetadataReach, action: () => Promise<void>): Promise<boolean> {
  const isDone = await reach.attempt(async () => {
    await action();
    return true;
  });
  return isDone === true;
}
