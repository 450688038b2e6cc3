import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { createShares } from "../../store/lib/shares.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import {
  createTask,
  openTasks,
  removeOldTasks,
  type Task,
  taskFiles,
  updateTask,
} from "../../store/metadata/tasks.js";
import { logRemoved } from "../background/log-removed.js";
import type { DiskSpace } from "../http/disk-space.js";
import { ApiError } from "../http/errors.js";
import { createTaskQueue } from "./queue.js";
import { type RunTaskDeps, runTask } from "./run-task.js";
import type { TaskKind } from "./task-kind.js";

export interface Tasks {
  /** Starts a task in the background and returns its id. @throws ApiError RESOURCE_LIMITED */
  start(actor: Actor, kind: string, input: object): Promise<string>;
  /** Queues a task that the schedules have stored; they check the capacity (`room`) first. */
  adopt(task: Task): void;
  /** How many tasks may be adopted now so that callers still find a place. */
  readonly room: number;
  /** The folder of the result files. */
  readonly dir: string;
  readonly space: DiskSpace;
  close(): Promise<void>;
}

export const tasksRunningMax = 4;
const tasksWaitingMax = 100;
/** Waiting and running tasks of one tenant, so that none makes the others wait for long. */
export const tasksPerTenantMax = 20;
/** The number of waiting tasks beyond which schedules hold theirs back. */
const tasksAdoptedMax = 20;
const keptMs = 86_400_000;
const sweepMs = 600_000;

interface TasksDeps extends RunTaskDeps {
  readonly node: number;
  readonly kinds: Readonly<Record<string, TaskKind>>;
  /** By which old tasks are removed, milliseconds since 1970. */
  readonly retentionTime: () => number;
}

/** Opens the tasks and resumes those that a restart has cut short. */
export async function openTasksRunner(deps: TasksDeps): Promise<Tasks> {
  const { db, node, dir, space, now, log, kinds } = deps;
  await mkdir(dir, { recursive: true });
  // Exports and uploads contain the devices' tokens.
  await chmod(dir, 0o700);
  const closing = new AbortController();
  const queue = createTaskQueue<Task>(tasksRunningMax, ({ kind }) => kinds[kind] ?? {});
  const running = new Set<Promise<void>>();
  /** Tasks that callers have begun, waiting or running, and those being stored; each counts one. */
  const begun = createShares<number>(tasksWaitingMax);

  function next(): void {
    const task = closing.signal.aborted ? undefined : queue.next();
    if (task === undefined) return;
    const job = runTask(deps, task, kinds[task.kind], closing.signal)
      .catch((error: unknown) => log.error("task state not saved", { task: task.id, error }))
      .finally(() => {
        running.delete(job);
        queue.ended(task);
        kinds[task.kind]?.ended?.(task);
        begun.give(task.tenant, 1);
        next();
      });
    running.add(job);
    next();
  }

  function add(task: Task): void {
    begun.force(task.tenant, 1);
    queue.add(task);
  }

  /** Counts a task of the tenant, until it ends. */
  function admit(tenant: number): void {
    if (begun.held(tenant) >= tasksPerTenantMax) {
      throw new ApiError("RESOURCE_LIMITED", `at most ${tasksPerTenantMax} tasks may be under way`);
    }
    if (!begun.take(tenant, 1)) {
      throw new ApiError(
        "RESOURCE_LIMITED",
        `at most ${tasksWaitingMax} tasks of all tenants may be under way`,
      );
    }
  }

  async function sweep(): Promise<void> {
    const before = deps.retentionTime() - keptMs;
    const { tasks, files } = await removeOldTasks(db, node, before);
    await Promise.all(files.map(space.remove));
    logRemoved(log, "tasks", tasks, before, { files: files.length });
  }

  for (const task of await openTasks(db, node)) {
    if (kinds[task.kind]?.resumes === true) add(task);
    else await abandon(deps, task);
  }
  await removeStrayFiles(deps, queue.waiting);
  next();
  await sweep();
  const timer = setInterval(
    () => sweep().catch((error: unknown) => log.warn("old tasks stay", { error })),
    sweepMs,
  );

  return {
    dir,
    space,
    adopt: (task) => {
      add(task);
      next();
    },
    get room() {
      return Math.max(0, tasksAdoptedMax - queue.waiting.length);
    },
    start: async (actor, kind, input) => {
      admit(actor.tenant);
      const id = newTaskID();
      try {
        queue.add(await createTask(db, actor, now(), { id, kind, input, node }));
      } catch (error) {
        begun.give(actor.tenant, 1);
        throw error;
      }
      next();
      return id;
    },
    close: async () => {
      clearInterval(timer);
      closing.abort();
      await Promise.all(running);
    },
  };
}

/** Fails a task that a restart has cut short and that is not run again. */
async function abandon({ db, now, log, kinds }: TasksDeps, task: Task): Promise<void> {
  await kinds[task.kind]
    ?.abandon?.(task)
    .catch((error: unknown) => log.warn("a task's leftovers stay", { task: task.id, error }));
  const msg = "the service was restarted; nothing was stored";
  await updateTask(db, now(), task.id, { state: "FAILURE", current: task.current, msg });
}

/** Removes files of tasks that a kill has cut short, and of uploads that never became tasks; counts all others. */
async function removeStrayFiles(deps: TasksDeps, waiting: readonly Task[]): Promise<void> {
  const { db, node, dir, space, kinds } = deps;
  const resumed = waiting.flatMap((task) =>
    (kinds[task.kind]?.keeps?.(task) ?? []).map((file) => ({ tenant: task.tenant, file })),
  );
  const tenants = new Map([...(await taskFiles(db, node)), ...resumed].map((one) => [one.file, one.tenant]));
  for (const file of await readdir(dir)) {
    const tenant = tenants.get(file);
    if (tenant === undefined) await space.remove(file);
    else await space.adopt(tenant, file);
  }
}

export function newTaskID(): string {
  return randomBytes(16).toString("hex");
}

/** The relative address at which callers poll a task. */
export function statusUrl(id: string): string {
  return `/task_status/${id}`;
}
