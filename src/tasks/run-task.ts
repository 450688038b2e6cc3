/** One task from its start to its end, with each state stored for its poller. */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Db } from "../../store/metadata/db/db.js";
import { type Task, updateTask } from "../../store/metadata/tasks.js";
import type { DiskSpace } from "../http/disk-space.js";
import { ApiError } from "../http/errors.js";
import type { Logger } from "../observability/log.js";
import { TaskFailure, type TaskKind } from "./task-kind.js";
import { untilServed } from "./until-served.js";

export interface RunTaskDeps {
  readonly db: Db;
  readonly dir: string;
  /** The disk space of that folder. */
  readonly space: DiskSpace;
  readonly now: () => number;
  readonly log: Logger;
}

const saveAgainMs = 1000;

/** @param kind undefined if this version does not know the task, which then fails */
export async function runTask(
  deps: RunTaskDeps,
  task: Task,
  kind: TaskKind | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { db, dir, space, now, log } = deps;
  let current = 0;
  let msg: unknown = null;
  async function progress(reached: number, detail: unknown = null): Promise<void> {
    const whole = Math.max(0, Math.min(100, Math.floor(reached)));
    if (whole === current && isDeepStrictEqual(detail, msg)) return;
    current = whole;
    msg = detail;
    await untilServed(signal, () => updateTask(db, now(), task.id, { state: "PROGRESS", current, msg }));
  }
  try {
    if (kind === undefined) throw new TaskFailure("this version does not know the task");
    await untilServed(signal, () => updateTask(db, now(), task.id, { state: "STARTED", current, msg }));
    const result = await kind.run({ task, dir, space, signal, progress });
    const { msg: last = null, file = null } = result;
    if (file !== null) await space.adopt(task.tenant, file);
    await saveEnd(deps, signal, task, { state: "SUCCESS", current: 100, msg: last, file });
  } catch (error) {
    // The next start resumes the task.
    if (signal.aborted) return;
    const foreseen = error instanceof TaskFailure || error instanceof ApiError;
    if (!foreseen) log.error("task failed", { task: task.id, kind: task.kind, error });
    const detail = error instanceof TaskFailure ? error.msg : foreseen ? error.message : "the service failed";
    const file = error instanceof TaskFailure ? error.file : null;
    if (file !== null) await space.adopt(task.tenant, file);
    await saveEnd(deps, signal, task, { state: "FAILURE", current, msg: detail, file });
  }
}

/** The poller of the task waits for its end, however long the store is away. */
async function saveEnd(
  { db, now, log }: RunTaskDeps,
  signal: AbortSignal,
  task: Task,
  end: Parameters<typeof updateTask>[3],
): Promise<void> {
  for (let times = 0; ; times++) {
    try {
      return await updateTask(db, now(), task.id, end);
    } catch (error) {
      if (times === 0) log.warn("a task's end is not saved yet", { task: task.id, error });
      await delay(saveAgainMs, undefined, { signal });
    }
  }
}
