/** What a kind of task brings along: its work, and how a restart treats it. */
import type { Task } from "../../store/metadata/tasks.js";
import type { DiskSpace } from "../http/disk-space.js";

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
   * Runs in places of its own, so many at once and one a tenant: it waits for no other work, and no other work waits
   * for it. For what somebody is waiting for, and takes little memory.
   */
  readonly apart?: number;
  /** Names of the files in the tasks' folder that a restart must leave for it. */
  keeps?(task: Task): readonly string[];
  /** Clears what a restart has cut short and nobody takes up. */
  abandon?(task: Task): Promise<void>;
}

/** The task fails by its caller's fault: `msg` says what is wrong, and `file` may list it. */
export class TaskFailure extends Error {
  constructor(
    readonly msg: unknown,
    readonly file: string | null = null,
  ) {
    super("the task failed");
    this.name = "TaskFailure";
  }
}
