import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Actor } from "../../store/changes.js";
import type { Db } from "../../store/db.js";
import {
  createTask,
  openTasks,
  removeOldTasks,
  type Task,
  taskFiles,
  updateTask,
} from "../../store/tasks.js";
import { ApiError } from "../http/errors.js";
import type { Logger } from "../log.js";
import { untilServed } from "./until-served.js";

/** What a task's work is given. */
export interface TaskContext {
  readonly task: Task;
  /** Aborted when the service closes. */
  readonly signal: AbortSignal;
  /** Where it may put its result file and what it needs meanwhile. */
  readonly dir: string;
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
  close(): Promise<void>;
}

export const tasksRunningMax = 4;
export const tasksWaitingMax = 100;
/** Waiting and running tasks of one tenant, so that none keeps the others waiting for long. */
export const tasksPerTenantMax = 20;
/** Waiting tasks beyond which schedules hold theirs back. */
const tasksAdoptedMax = 20;
const keptMs = 86_400_000;
const sweepMs = 600_000;
const saveAgainMs = 1000;

export interface TasksDeps {
  readonly db: Db;
  readonly node: number;
  readonly dir: string;
  readonly now: () => number;
  readonly log: Logger;
  readonly kinds: Readonly<Record<string, TaskKind>>;
}

/** Opens the tasks and takes up what a restart has cut short. */
export async function openTasksRunner(deps: TasksDeps): Promise<Tasks> {
  const { db, node, dir, now, log, kinds } = deps;
  await mkdir(dir, { recursive: true });
  // Exports and uploads hold the devices' tokens.
  await chmod(dir, 0o700);
  const closing = new AbortController();
  const waiting: Task[] = [];
  const running = new Map<Task, Promise<void>>();
  /** Tenants of those that are being stored. */
  const starting: number[] = [];

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
        ...{ task, dir, signal },
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
      await saveEnd(task, { state: "SUCCESS", current: 100, msg: last, file });
    } catch (error) {
      // The next start takes it up.
      if (signal.aborted) return;
      const foreseen = error instanceof TaskFailure || error instanceof ApiError;
      if (!foreseen) log.error("task failed", { task: task.id, kind: task.kind, error });
      const told = error instanceof TaskFailure ? error.msg : foreseen ? error.message : "the service failed";
      const file = error instanceof TaskFailure ? error.file : null;
      await saveEnd(task, { state: "FAILURE", current, msg: told, file });
    }
  }

  function mayRun(task: Task): boolean {
    const { apart, lane } = kinds[task.kind] ?? {};
    const others = [...running.keys()];
    if (apart !== undefined) {
      const same = others.filter(({ kind }) => kind === task.kind);
      return same.length < apart && same.every(({ tenant }) => tenant !== task.tenant);
    }
    const sharing = others.filter(({ kind }) => kinds[kind]?.apart === undefined);
    if (sharing.length >= tasksRunningMax) return false;
    return lane === undefined || sharing.every(({ kind }) => kinds[kind]?.lane !== lane);
  }

  function next(): void {
    if (closing.signal.aborted) return;
    const at = waiting.findIndex(mayRun);
    const [task] = at < 0 ? [] : waiting.splice(at, 1);
    if (task === undefined) return;
    const job = run(task)
      .catch((error: unknown) => log.error("task state not saved", { task: task.id, error }))
      .finally(() => {
        running.delete(task);
        next();
      });
    running.set(task, job);
    next();
  }

  function checkRoom(tenant: number): void {
    const tenants = [...waiting, ...running.keys()].map((task) => task.tenant).concat(starting);
    if (tenants.filter((one) => one === tenant).length >= tasksPerTenantMax) {
      throw new ApiError("RESOURCE_LIMITED", `at most ${tasksPerTenantMax} tasks may be under way`);
    }
    if (waiting.length + starting.length >= tasksWaitingMax) {
      throw new ApiError("RESOURCE_LIMITED", `at most ${tasksWaitingMax} tasks may wait`);
    }
  }

  /** Files of tasks that a kill has cut short, and of uploads that never became one. */
  async function removeStrayFiles(): Promise<void> {
    const resumed = waiting.flatMap((task) => kinds[task.kind]?.keeps?.(task) ?? []);
    const kept = new Set([...(await taskFiles(db, node)), ...resumed]);
    const stray = (await readdir(dir)).filter((file) => !kept.has(file));
    await Promise.all(stray.map((file) => rm(join(dir, file), { force: true, recursive: true })));
  }

  async function sweep(): Promise<void> {
    const files = await removeOldTasks(db, node, now() - keptMs);
    await Promise.all(files.map((file) => rm(join(dir, file), { force: true })));
  }

  for (const task of await openTasks(db, node)) {
    if (kinds[task.kind]?.resumes === true) waiting.push(task);
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
    adopt: (task) => {
      waiting.push(task);
      next();
    },
    get room() {
      return Math.max(0, tasksAdoptedMax - waiting.length);
    },
    start: async (actor, kind, input) => {
      checkRoom(actor.tenant);
      const id = newTaskID();
      starting.push(actor.tenant);
      try {
        waiting.push(await createTask(db, actor, now(), { id, kind, input, node }));
      } finally {
        starting.splice(starting.indexOf(actor.tenant), 1);
      }
      next();
      return id;
    },
    close: async () => {
      clearInterval(timer);
      closing.abort();
      await Promise.all(running.values());
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
