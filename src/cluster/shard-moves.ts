/** Which shards this node takes, gives and loses, after each look at who is to have them. */
import { setTimeout as delay } from "node:timers/promises";
import { orAborted } from "../../store/lib/abortable.js";
import type { MetadataReach } from "./metadata-reach.js";
import type { ShardPlan } from "./shard-plan.js";
import { createShardSteps, type Local, type OwnState, type ShardStepsDeps } from "./shard-steps.js";
import type { ShardView } from "./shard-view.js";

interface ShardMoves {
  isOpen(shard: number): boolean;
  /** Whether the shard's folder is in use: it is open, or on its way here or from here. */
  isHere(shard: number): boolean;
  /** After a look: closes what others have taken, and moves on towards the plan. */
  follow(plan: ShardPlan): void;
  /** Gives all of these at once, also what is being opened: they serve nobody here. */
  giveUp(shards: readonly number[]): void;
  /** The service has closed the shard, since its log says that another node has it. */
  dropped(shard: number): void;
  /**
   * Takes nothing more, and opens none to the end; gives what is open: one after the other, or all at once if they serve
   * nobody here.
   */
  giveAll(): Promise<void>;
  /** Takes nothing more; closes all, of which nothing is this process's any more. */
  loseAll(): void;
  /** Resolves once nothing is on its way. */
  settled(): Promise<void>;
}

/** On their way to this node at the same time. */
const takesAtOnce = 2;
/** How long a stopping node lets others copy its shards ahead; after that it gives the rest without waiting. */
const shutdownMs = 10_000;
const againMs = 200;

export function createShardMoves(
  deps: ShardStepsDeps,
  view: ShardView,
  reach: MetadataReach,
  own: OwnState,
): ShardMoves {
  const { log, clock } = deps;
  const locals = new Map<number, Local>();
  const steps = createShardSteps(deps, locals, view, reach, own);
  const running = new Set<Promise<void>>();
  /** The shards that this node has still to take, as of the last look. */
  let wanted: number[] = [];
  /** The shards that this node is to give to others, as of the last look. */
  let shuttingDown: readonly number[] = [];
  let taking = 0;
  let giving = false;
  const ending = new AbortController();

  function run(step: Promise<void>, then = (): void => undefined): void {
    const ended: Promise<void> = step
      .catch((error) => log.error("a shard's move failed", { error }))
      .then(() => {
        running.delete(ended);
        then();
      });
    running.add(ended);
  }

  function takeNext(): void {
    while (taking < takesAtOnce && !ending.signal.aborted && !reach.isAway) {
      const shard = wanted.shift();
      if (shard === undefined) return;
      if (locals.has(shard)) continue;
      taking++;
      run(steps.take(shard), () => {
        taking--;
        takeNext();
      });
    }
  }

  const isOpen = (shard: number): boolean => locals.get(shard)?.phase === "open";
  const canGive = (shard: number): boolean => isOpen(shard) && steps.mayGive(shard);

  /** Gives one at a time, and at most one a look: the node that gets it needs that time to open it. */
  function giveNext(): void {
    if (giving || !shuttingDown.some(canGive)) return;
    giving = true;
    run(giveCopied(), () => {
      giving = false;
    });
  }

  function leaveOpening(shards: Iterable<number>): void {
    for (const shard of shards) locals.get(shard)?.leaving.abort();
  }

  /**
   * Each is open here until it has been copied, however long that takes: the next ones, which another node may be to
   * have, do not wait for it.
   */
  async function giveCopied(): Promise<void> {
    for (const shard of shuttingDown) {
      const mayGo = (): boolean => !ending.signal.aborted && canGive(shard) && shuttingDown.includes(shard);
      if (!mayGo()) continue;
      const ahead = deps.ahead(shard, view.takers(), Number.POSITIVE_INFINITY);
      if ((await orAborted(ahead, ending.signal)) === true && mayGo()) return steps.give(shard);
    }
  }

  /** Resolves once the node that gets the shard has copied it, or the time is over. */
  async function copied(shard: number | undefined, until: number): Promise<void> {
    while (shard !== undefined && isOpen(shard) && own.isAble() && clock.monotonic() < until) {
      const takers = view.takers();
      if (takers.length === 0 || (await deps.ahead(shard, takers, until - clock.monotonic()))) return;
      await delay(againMs);
    }
  }

  /** The next one is copied while this one is given, in the order in which the others' plans deal them out. */
  async function giveOneByOne(): Promise<void> {
    const left = [...locals.keys()].toSorted((a, b) => a - b);
    const until = clock.monotonic() + shutdownMs;
    let copying = copied(left[0], until);
    while (left.length > 0) {
      const next = left.splice(0, own.isAble() ? 1 : left.length);
      await copying;
      copying = copied(left[0], until);
      await Promise.all(next.filter(isOpen).map(steps.give));
    }
  }

  function loseTaken(): void {
    for (const [shard, local] of locals) {
      if (view.isOwn(shard)) continue;
      if (local.phase === "opening") {
        local.isLost = true;
        // The opening would take the log from the node that has the shard now.
        local.leaving.abort();
      }
      if (local.phase === "open") run(steps.lose(shard, local));
    }
  }

  const settled = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(running);
  };

  return {
    isOpen,
    isHere: (shard) => locals.has(shard),
    follow: (plan) => {
      loseTaken();
      if (ending.signal.aborted) return;
      // Rows of this process without a shard: what was written has had no answer.
      const unopened = view.ownShards().filter((shard) => !locals.has(shard));
      for (const shard of unopened) {
        if (plan.give.includes(shard) || steps.isUnfreed(shard)) run(steps.free(shard));
      }
      wanted = [...unopened, ...plan.take].filter((shard) => !locals.has(shard) && steps.mayTake(shard));
      takeNext();
      shuttingDown = plan.give;
      giveNext();
    },
    giveUp: (shards) => {
      if (ending.signal.aborted) return;
      leaveOpening(shards);
      for (const shard of shards) {
        if (canGive(shard)) run(steps.give(shard));
        // A row of this process without a shard.
        if (!locals.has(shard)) run(steps.free(shard));
      }
    },
    dropped: (shard) => {
      const local = locals.get(shard);
      if (local === undefined) return;
      steps.wait(shard);
      if (local.phase === "open") locals.delete(shard);
      else local.isLost = true;
    },
    giveAll: async () => {
      ending.abort();
      leaveOpening(locals.keys());
      await settled();
      await giveOneByOne();
      for (const shard of view.ownShards()) if (steps.isUnfreed(shard)) await steps.free(shard);
      await settled();
    },
    loseAll: () => {
      ending.abort();
      leaveOpening(locals.keys());
      for (const [shard, local] of locals) {
        local.isLost = true;
        if (local.phase === "open") run(steps.lose(shard, local));
      }
    },
    settled,
  };
}
