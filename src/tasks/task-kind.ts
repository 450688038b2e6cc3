/** What a kind of task brings along: its work, and how a restart treats it. */
import type { Task } from "../../store/metadata/tasks.js";
import type { DiskSpace } from "../http/disk-space.js";

/** What the work of a task is given. */
export interface TaskContext {
  readonly task: Task;
  /** Aborted when the service closes. */
  readonly signal: AbortSignal;
  /** The folder for its result file and its temporary files. */
  readonly dir: string;
  /** Room for what it writes there. */
  readonly space: DiskSpace;
  /** Reports its progress, 0 to 100, and what the caller may see of it. */
  progress(current: number, msg?: unknown): Promise<void>;
}

export interface TaskResult {
  readonly msg?: unknown;
  /** Name of the result file in `dir`. */
  readonly file?: string;
}

export interface TaskKind {
  run(context: TaskContext): Promise<TaskResult>;
  /** Whether a task that a restart has cut short is run again; otherwise it fails and says so. */
  readonly resumes: boolean;
  /** For kinds that take hundreds of megabytes: each lane runs one task at a time. */
  readonly lane?: string;
  /**
   * Runs in places of its own, this many at once and one for each tenant: it waits for no other work, and no
   * other work waits for it. For work that somebody is waiting for and that takes little memory.
   */
  readonly apart?: number;
  /** Names of the files in the tasks' folder that a restart must leave for it. */
  keeps?(task: Task): readonly string[];
  /** Cleans up after a task that a restart has cut short and that is not resumed. */
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
