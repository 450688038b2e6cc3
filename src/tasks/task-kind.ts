/** A kind of task: its work, and how a restart treats it. */
import type { Task } from "../../store/metadata/tasks.js";
import type { DiskSpace } from "../http/disk-space.js";

/** The context of a task's work. */
export interface TaskContext {
  readonly task: Task;
  /** Aborted when the service closes. */
  readonly signal: AbortSignal;
  /** The folder for its result file and its temporary files. */
  readonly dir: string;
  /** Space for the files that it writes there. */
  readonly space: DiskSpace;
  /** Reports the task's progress, 0 to 100, and a message for the caller. */
  progress(current: number, msg?: unknown): Promise<void>;
}

export interface TaskResult {
  readonly msg?: unknown;
  /** Name of the result file in `dir`. */
  readonly file?: string;
}

export interface TaskKind {
  run(context: TaskContext): Promise<TaskResult>;
  /** Whether a task that a restart interrupted runs again; otherwise it fails and says so. */
  readonly resumes: boolean;
  /** For kinds that take hundreds of megabytes: each lane runs one task at a time. */
  readonly lane?: string;
  /**
   * Runs in places of its own, this many at once and one for each tenant: it waits for no other work, and no
   * other work waits for it. For work that somebody is waiting for and that takes little memory.
   */
  readonly apart?: number;
  /** Names of the files in the tasks' folder that must survive a restart for it. */
  keeps?(task: Task): readonly string[];
  /** Called once a task is over, however it ended, and also if it could not even be begun. */
  ended?(task: Task): void;
  /** Cleans up after a task that a restart has cut short and that is not resumed. */
  abandon?(task: Task): Promise<void>;
}

/** The task fails by its caller's fault: `msg` names the fault, and `file` may list details. */
export class TaskFailure extends Error {
  constructor(
    readonly msg: unknown,
    readonly file: string | null = null,
  ) {
    super("the task failed");
    this.name = "TaskFailure";
  }
}
