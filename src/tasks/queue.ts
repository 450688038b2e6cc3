import { createShares } from "../../store/lib/shares.js";

/** A task that waits for a place to run, or runs. */
interface Queued {
  readonly tenant: number;
  readonly kind: string;
}

/** The needs of tasks of a kind, besides a place. */
interface Needs {
  /** Only one task of a lane runs at a time. */
  readonly lane?: string;
  /** This many run beside the others, in places of their own, one for each tenant. */
  readonly apart?: number;
}

/**
 * Decides which task runs next. Each lane runs one at a time; a tenant's running tasks leave a place to
 * others, and the tenant whose last turn is longest ago comes first, so that nobody waits for more than one
 * task of each other tenant.
 */
interface TaskQueue<Task extends Queued> {
  add(task: Task): void;
  /** The next task, which then counts as running until `ended`; undefined if none may begin. */
  next(): Task | undefined;
  ended(task: Task): void;
  readonly waiting: readonly Task[];
  /** How many tasks of the tenant wait or run. */
  countOf(tenant: number): number;
}

export function createTaskQueue<Task extends Queued>(
  runningMax: number,
  taskNeeds: (task: Task) => Needs,
): TaskQueue<Task> {
  const waiting: Task[] = [];
  const running = new Set<Task>();
  const places = createShares<number>(runningMax);
  /** When each tenant's last task began, counted in tasks begun. */
  const begun = new Map<number, number>();
  let beginnings = 0;

  function mayRun(task: Task): boolean {
    const { lane, apart } = taskNeeds(task);
    if (apart !== undefined) {
      const same = [...running].filter(({ kind }) => kind === task.kind);
      return same.length < apart && same.every(({ tenant }) => tenant !== task.tenant);
    }
    return lane === undefined || ![...running].some((other) => taskNeeds(other).lane === lane);
  }

  /** Takes an ordinary place for the task, unless its kind has places of its own; false if none is left. */
  const takesPlace = (task: Task): boolean =>
    taskNeeds(task).apart !== undefined || places.take(task.tenant, 1);

  return {
    add: (task) => {
      waiting.push(task);
    },
    next: () => {
      const ready = waiting.filter(mayRun);
      // Stable: of one tenant's tasks, the first to come.
      ready.sort((a, b) => (begun.get(a.tenant) ?? 0) - (begun.get(b.tenant) ?? 0));
      const task = ready.find(takesPlace);
      if (task === undefined) return undefined;
      waiting.splice(waiting.indexOf(task), 1);
      running.add(task);
      begun.set(task.tenant, ++beginnings);
      return task;
    },
    ended: (task) => {
      if (running.delete(task) && taskNeeds(task).apart === undefined) places.give(task.tenant, 1);
    },
    waiting,
    countOf: (tenant) => [...waiting, ...running].filter((task) => task.tenant === tenant).length,
  };
}
