import { createRoundRobin } from "../../store/lib/round-robin.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { createShares } from "../../store/lib/shares.js";

/**
 * How much work the messages on their way to the disk may bring about once they are there: it is done in the turn of
 * their commit, which everybody waits for. Work beyond that waits for a later one. Tenants share it, and are called
 * in turn, each tenant's work in the order of asking: a tenant with hundreds of connections holds up only itself.
 */
export interface WorkBudget {
  /** False, with nothing taken, if it has to wait. `cost`: characters of topic filters that are compared. */
  take(tenant: number, cost: number): boolean;
  give(tenant: number, cost: number): void;
  /** Resolves when its turn has come and it has been taken. */
  room(tenant: number, cost: number): Promise<void>;
  /**
   * Does work that ends within its turn: at once if it is light, else when the budget allows it, in a turn of its own.
   */
  run<T>(tenant: number, cost: number, work: () => T): Promise<T>;
}

interface Waiting {
  readonly cost: number;
  readonly resolve: () => void;
}

/** About two milliseconds. Work that costs more by itself goes alone. */
export const workMax = 512 * 1024;
/** Work that costs less than the message itself: it is not counted. */
export const lightWorkMax = 4096;

export function createWorkBudget(max = workMax): WorkBudget {
  const shares = createShares<number>(max);
  const waiting = createRoundRobin<number, Waiting>();

  function takes(tenant: number, cost: number): boolean {
    if (shares.total > 0) return shares.take(tenant, cost);
    // Work that is larger than the whole budget is let in too.
    shares.force(tenant, cost);
    return true;
  }

  /** Whether a tenant that has nothing yet waits for budget: nobody may pass it, or large work would wait for ever. */
  function isAskedFor(): boolean {
    for (const [tenant] of waiting.firsts()) if (shares.held(tenant) === 0) return true;
    return false;
  }

  /**
   * Calls the first tenant whose work fits into the budget; it is then called after the others. False if there is none.
   */
  function callNext(): boolean {
    for (const [tenant, first] of waiting.firsts()) {
      if (takes(tenant, first.cost)) {
        waiting.serve(tenant);
        first.resolve();
        return true;
      }
      if (shares.held(tenant) === 0) return false;
    }
    return false;
  }

  const take = (tenant: number, cost: number): boolean =>
    (waiting.size === 0 || (!waiting.has(tenant) && !isAskedFor())) && takes(tenant, cost);

  function give(tenant: number, cost: number): void {
    shares.give(tenant, cost);
    // The budget is taken on behalf of the called work; a caller that no longer needs it gives it back.
    while (waiting.size > 0 && callNext());
  }

  async function room(tenant: number, cost: number): Promise<void> {
    if (take(tenant, cost)) return;
    await new Promise<void>((resolve) => waiting.push(tenant, { cost, resolve }));
  }

  return {
    take,
    give,
    room,
    run: runWithin({ room, give }),
  };
}

function runWithin({ room, give }: Pick<WorkBudget, "room" | "give">): WorkBudget["run"] {
  return async (tenant, cost, work) => {
    if (cost <= lightWorkMax) return work();
    await room(tenant, cost);
    try {
      return work();
    } finally {
      void nextTurn().then(() => give(tenant, cost));
    }
  };
}

/** The part of a budget that some use who may end before their work is done: what they hold then is given back. */
interface WorkPart extends WorkBudget {
  end(): void;
}

export function createWorkPart(budget: WorkBudget): WorkPart {
  const held = new Map<number, number>();
  let isOver = false;
  const hold = (tenant: number, cost: number): void => {
    if (isOver) budget.give(tenant, cost);
    else held.set(tenant, (held.get(tenant) ?? 0) + cost);
  };
  const give = (tenant: number, cost: number): void => {
    if (isOver) return;
    const left = (held.get(tenant) ?? 0) - cost;
    if (left === 0) held.delete(tenant);
    else held.set(tenant, left);
    budget.give(tenant, cost);
  };
  const room = async (tenant: number, cost: number): Promise<void> => {
    await budget.room(tenant, cost);
    hold(tenant, cost);
  };
  return {
    take: (tenant, cost) => {
      const isTaken = budget.take(tenant, cost);
      if (isTaken) hold(tenant, cost);
      return isTaken;
    },
    give,
    room,
    run: runWithin({ room, give }),
    end: () => {
      isOver = true;
      for (const [tenant, cost] of held) budget.give(tenant, cost);
      held.clear();
    },
  };
}
