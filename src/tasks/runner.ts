import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createShares } from "../../store/lib/shares.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  createTask,
  openTasks,
  removeOldTasks,
  type Task,
  taskFiles,
  updateTask,
} from "../../store/metadata/tasks.js";
import type { DiskSpace } from "../http/disk-space.js";
import { ApiError } from "../http/errors.js";
import type { Logger } from "../observability/log.js";
import { createTaskQueue } from "./queue.js";
import { untilServed } from "./until-served.js";

/** What a task's work is given. */
export interface TaskContext {
  readonly task: Task;
  /** Aborted when the service closes. */
  readonly signal: AbortSignal;
  /** Where it may put its result file and what it needs meanwhile. */
  readonly dir: string;
  /** Room for what it writes there. */
  readonly space: DiskSpace;
  /** Tells how far it is, 0 to 100, and what the caller may see of it. */
  progress(current: number, msg?: unknown): Promise<void>;
}

export interface TaskResult {
  readonly msg?: unknown;
  /** Name of the result file in `dir`. */
  readonly file?: string;
}

export interface TaskKind {
  run(context: TaskContext): Promise<TaskResult>;
  /** Whether one that a restart has cut short is run again; otherwise it fails and says so. */
  readonly resumes: boolean;
  /** Takes memory and CPU by the hundred megabytes: of one lane, one such task runs at a time. */
  readonly lane?: string;
  /**
   * Runs in places of its own, so many at once and one a tenant, so that it waits for no other work and no other work
   * for it: it is about what somebody is waiting for, and takes little memory.
   */
  readonly apart?: number;
  /** Names of the files in the tasks' folder that a restart must leave for it. */
  keeps?(task: Task): readonly string[];
  /** Clears what a restart has cut short and nobody takes up. */
  abandon?(task: Task): Promise<void>;
}

/** A task that fails by its caller's fault: what is wrong is its msg, and it may have a file that lists it. */
export class TaskFailure extends Error {
  constructor(
    readonly msg: unknown,
    readonly file: string | null = null,
  ) {
    super("the task failed");
    this.name = "TaskFailure";
  }
}

export interface Tasks {
  /** Begins one in the background and answers its id. @throws ApiError RESOURCE_LIMITED */
  start(actor: Actor, kind: string, input: object): Promise<string>;
  /** Takes up one that the schedules have stored; they ask for room before. */
  adopt(task: Task): void;
  /** How many may be adopted now, so that callers still find a place. */
  readonly room: number;
  /** Where result files lie. */
  readonly dir: string;
  readonly space: DiskSpace;
  close(): Promise<void>;
}

export const tasksRunningMax = 4;
const tasksWaitingMax = 100;
/** Waiting and running tasks of one tenant, so that none keeps the others waiting for long. */
export const tasksPerTenantMax = 20;
/** Waiting tasks beyond which schedules hold theirs back. */
const tasksAdoptedMax = 20;
const keptMs = 86_400_000;
const sweepMs = 600_000;
const saveAgainMs = 1000;

interface TasksDeps {
  readonly db: Db;
  readonly node: number;
  readonly dir: string;
  /** Of that folder. */
  readonly space: DiskSpace;
  readonly now: () => number;
  readonly log: Logger;
  readonly kinds: Readonly<Record<string, TaskKind>>;
}

/** Opens the tasks and takes up what a restart has cut short. */
export async function openTasksRunner(deps: TasksDeps): Promise<Tasks> {
  const { db, node, dir, space, now, log, kinds } = deps;
  await mkdir(dir, { recursive: true });
  // Exports and uploads hold the devices' tokens.
  await chmod(dir, 0o700);
  const closing = new AbortController();
  const queue = createTaskQueue<Task>(tasksRunningMax, ({ kind }) => kinds[kind] ?? {});
  const running = new Set<Promise<void>>();
  /** Places of those that callers have begun, waiting or running, and of those that are being stored. */
  const places = createShares<number>(tasksWaitingMax);

  /** Whoever watches a task waits for its end, however long the store is away. */
  async function saveEnd(task: Task, end: Parameters<typeof updateTask>[3]): Promise<void> {
    for (let times = 0; ; times++) {
      try {
        return await updateTask(db, now(), task.id, end);
      } catch (error) {
        if (times === 0) log.warn("a task's end is not saved yet", { task: task.id, error });
        await pause(saveAgainMs, undefined, { signal: closing.signal });
      }
    }
  }

  async function run(task: Task): Promise<void> {
    const kind = kinds[task.kind];
    const { signal } = closing;
    let current = 0;
    let msg: unknown = null;
    try {
      if (kind === undefined) throw new TaskFailure("this version does not know the task");
      await untilServed(signal, () => updateTask(db, now(), task.id, { state: "STARTED", current, msg }));
      const result = await kind.run({
        ...{ task, dir, space, signal },
        progress: async (reached, told = null) => {
          const whole = Math.max(0, Math.min(100, Math.floor(reached)));
          if (whole === current && isDeepStrictEqual(told, msg)) return;
          current = whole;
          msg = told;
          await untilServed(signal, () =>
            updateTask(db, now(), task.id, { state: "PROGRESS", current, msg }),
          );
        },
      });
      const { msg: last = null, file = null } = result;
      if (file !== null) await space.adopt(task.tenant, file);
      await saveEnd(task, { state: "SUCCESS", current: 100, msg: last, file });
    } catch (error) {
      // The next start takes it up.
      if (signal.aborted) return;
      const foreseen = error instanceof TaskFailure || error instanceof ApiError;
      if (!foreseen) log.error("task failed", { task: task.id, kind: task.kind, error });
      const told = error instanceof TaskFailure ? error.msg : foreseen ? error.message : "the service failed";
      const file = error instanceof TaskFailure ? error.file : null;
      if (file !== null) await space.adopt(task.tenant, file);
      await saveEnd(task, { state: "FAILURE", current, msg: told, file });
    }
  }

  function next(): void {
    const task = closing.signal.aborted ? undefined : queue.next();
    if (task === undefined) return;
    const job = run(task)
      .catch((error: unknown) => log.error("task state not saved", { task: task.id, error }))
      .finally(() => {
        running.delete(job);
        queue.ended(task);
        places.give(task.tenant, 1);
        next();
      });
    running.add(job);
    next();
  }

  function add(task: Task): void {
    places.force(task.tenant, 1);
    queue.add(task);
  }

  /** Takes a place that the task keeps to its end. */
  function takePlace(tenant: number): void {
    if (places.held(tenant) >= tasksPerTenantMax) {
      throw new ApiError("RESOURCE_LIMITED", `at most ${tasksPerTenantMax} tasks may be under way`);
    }
    if (!places.take(tenant, 1)) {
      throw new ApiError(
        "RESOURCE_LIMITED",
        `at most ${tasksWaitingMax} tasks of all tenants may be under way`,
      );
    }
  }

  /** Files of tasks that a kill has cut short, and of uploads that never became one. */
  async function removeStrayFiles(): Promise<void> {
    const resumed = queue.waiting.flatMap((task) =>
      (kinds[task.kind]?.keeps?.(task) ?? []).map((file) => ({ tenant: task.tenant, file })),
    );
    const kept = new Map([...(await taskFiles(db, node)), ...resumed].map((one) => [one.file, one.tenant]));
    for (const file of await readdir(dir)) {
      const tenant = kept.get(file);
      if (tenant === undefined) await space.remove(file);
      else await space.adopt(tenant, file);
    }
  }

  async function sweep(): Promise<void> {
    const files = await removeOldTasks(db, node, now() - keptMs);
    await Promise.all(files.map(space.remove));
  }

  for (const task of await openTasks(db, node)) {
    if (kinds[task.kind]?.resumes === true) add(task);
    else {
      const clearing = kinds[task.kind]?.abandon?.(task);
      await clearing?.catch((error: unknown) =>
        log.warn("a task's leftovers stay", { task: task.id, error }),
      );
      const msg = "the service was restarted; nothing was stored";
      await updateTask(db, now(), task.id, { state: "FAILURE", current: task.current, msg });
    }
  }
  await removeStrayFiles();
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
      takePlace(actor.tenant);
      const id = newTaskID();
      try {
        queue.add(await createTask(db, actor, now(), { id, kind, input, node }));
      } catch (error) {
        places.give(actor.tenant, 1);
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

export function newTaskID(): string {
  return randomBytes(16).toString("hex");
}

/** The relative address at which callers watch a task. */
export function statusUrl(id: string): string {
  return `/task_status/${id}`;
}
