import { createShares } from "../../store/shares.js";

/** What waits for a place to run, and what runs. */
export interface Queued {
  readonly tenant: number;
}

/**
 * Which task runs next. Of a lane one runs at a time; a tenant's running ones leave a place to others, and whose turn it
 * is longest ago comes first, so that nobody waits for more than one task of each other tenant.
 */
export interface TaskQueue<Task extends Queued> {
  add(task: Task): void;
  /** The next one, which then runs until `ended`; undefined when none may begin. */
  next(): Task | undefined;
  ended(task: Task): void;
  readonly waiting: readonly Task[];
  /** Waiting and running ones of the tenant. */
  countOf(tenant: number): number;
}

/** @param laneOf undefined: with none it shares a lane with */
export function createTaskQueue<Task extends Queued>(
  runningMax: number,
  laneOf: (task: Task) => string | undefined,
): TaskQueue<Task> {
  const waiting: Task[] = [];
  const running = new Set<Task>();
  const places = createShares<number>(runningMax);
  /** When each tenant's last task began, counted in beginnings. */
  const begun = new Map<number, number>();
  let beginnings = 0;

  function mayRun(task: Task, lanes: ReadonlySet<string | undefined>): boolean {
    const lane = laneOf(task);
    return lane === undefined || !lanes.has(lane);
  }

  return {
    add: (task) => {
      waiting.push(task);
    },
    next: () => {
      const lanes = new Set([...running].map(laneOf));
      const ready = waiting.filter((task) => mayRun(task, lanes));
      // Stable: of one tenant, the one that came first.
      ready.sort((a, b) => (begun.get(a.tenant) ?? 0) - (begun.get(b.tenant) ?? 0));
      const task = ready.find(({ tenant }) => places.take(tenant, 1));
      if (task === undefined) return undefined;
      waiting.splice(waiting.indexOf(task), 1);
      running.add(task);
      begun.set(task.tenant, ++beginnings);
      return task;
    },
    ended: (task) => {
      if (running.delete(task)) places.give(task.tenant, 1);
    },
    waiting,
    countOf: (tenant) => [...waiting, ...running].filter((task) => task.tenant === tenant).length,
  };
}
