/**
 * Something that exactly one process of the cluster is to do at a time, agreed by a row of the shared metadata like the
 * number of a node: it is beaten while the process is there, and taken over once it has not been for a while, or once the
 * process says that it cannot do it.
 */
import type { sleep as systemSleep } from "../../store/lib/abortable.js";
import { createLock } from "../../store/lib/scheduling.js";
import {
  beatNode,
  markLeaving,
  type NodeIdentity,
  takeNumber,
} from "../../store/metadata/cluster/cluster-nodes.js";
import { readClusterState } from "../../store/metadata/cluster/cluster-state.js";
import type { Db } from "../../store/metadata/db/db.js";
import { beatMs, createNodeWatch } from "./node-watch.js";

/** The seat of the one that follows the external broker. Nodes have numbers up to 999. */
export const brokerSeat = 1000;

interface Seat {
  /** Looks now whether this process still has it. False as well if the metadata cannot be reached. */
  check(): Promise<boolean>;
  /** Leaves it to the others. */
  close(): Promise<void>;
}

interface SeatDeps {
  readonly db: Pick<Db, "write" | "snapshot">;
  readonly number: number;
  /** Identifies this process among all others. */
  readonly owner: string;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  readonly sleep: typeof systemSleep;
  /** Whether this process could do now what the seat is for: if not it does not take it. */
  readonly isAble: () => boolean;
  /** It is this process's from now on. `term` ascends from one that has it to the next. */
  readonly onTaken: (term: number) => void;
  readonly onLost: () => void;
}

/** Whether the process has the seat of that number now. */
export async function hasSeat(db: Pick<Db, "snapshot">, { number, owner }: NodeIdentity): Promise<boolean> {
  const { nodes } = await readClusterState(db);
  return nodes.some((one) => one.number === number && one.owner === owner);
}

/** For so long it keeps the seat to itself without being able. */
const unableMsMax = 10_000;

/**
 * A process that cannot reach the metadata keeps its lease: no other process can take it then, or the next beat that
 * succeeds shows that one has. A process that is not able keeps it too while no other is able.
 */
export function startSeat(deps: SeatDeps): Seat {
  const { db, number, owner, monotonic, sleep, isAble, onTaken, onLost } = deps;
  const identity = { number, owner };
  const watch = createNodeWatch([number], Number.NaN, monotonic);
  const stopped = new AbortController();
  const runExclusive = createLock();
  let isOwn = false;
  let ableAt = monotonic();

  async function beat(): Promise<boolean> {
    const isAbleNow = isAble();
    if (isAbleNow) ableAt = monotonic();
    if (isOwn) {
      const lacks = { isAble: monotonic() - ableAt < unableMsMax, refuses: [] };
      if (await beatNode(db, identity, lacks)) return true;
      isOwn = false;
      onLost();
      return false;
    }
    const { nodes } = await readClusterState(db);
    watch.see(nodes);
    const held = nodes.find((one) => one.number === number) ?? null;
    if (!isAbleNow || (held?.isAble && !held.isLeaving && watch.find(number) !== null)) return false;
    isOwn = await takeNumber(db, identity, held);
    if (isOwn) onTaken((held?.beat ?? 0) + 1);
    return isOwn;
  }

  const attempt = (): Promise<boolean> =>
    runExclusive(async () => {
      if (stopped.signal.aborted) return false;
      try {
        return await beat();
      } catch {
        watch.miss();
        return false;
      }
    });

  async function keepBeating(): Promise<void> {
    while (!stopped.signal.aborted) {
      await attempt();
      await sleep(beatMs, stopped.signal);
    }
  }
  const beating = keepBeating();

  return {
    check: attempt,
    close: async () => {
      stopped.abort();
      await beating;
      if (!isOwn) return;
      isOwn = false;
      onLost();
      // The row stays: the next term follows from its beats.
      await markLeaving(db, identity).catch(() => undefined);
    },
  };
}
