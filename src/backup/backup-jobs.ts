/** What the service does to its backups in the background, one at a time, each a task in a process of its own. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { asError } from "../../store/lib/errors.js";
import { ApiError } from "../http/errors.js";
import type { Logger } from "../observability/log.js";
import type { BackupFigures } from "../observability/metrics.js";
import { type TaskContext, TaskFailure, type TaskKind, type TaskResult } from "../tasks/task-kind.js";
import type { BackupWork } from "./backup.child.js";
import { type BackupSource, unfinished } from "./backup.js";
import { type BackupFolder, isMountPoint } from "./backup-folder.js";
import { type BackupEnd, workInProcess } from "./backup-process.js";
import { failureText } from "./failure-text.js";

/** Kinds of tasks. */
export const backupMake = "backup";
export const backupVerify = "backup_verify";
type Kind = typeof backupMake | typeof backupVerify;

/** The input of both, stored as JSON. */
export interface BackupInput {
  readonly name: string;
}

interface Running {
  readonly kind: Kind;
  readonly name: string;
  /** Null until the task runs. */
  readonly taskID: string | null;
}

interface Failure {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly reason: string;
}

export interface BackupJobs {
  readonly kinds: Readonly<Record<Kind, TaskKind>>;
  readonly running: Running | null;
  /** Why the newest backup of this run is none; null once another one is complete. */
  readonly failure: Failure | null;
  /** Takes the one place for a task that is about to start. @throws ApiError IN_PROGRESS */
  claim(kind: Kind, name: string): void;
  /** For a task that could not start. */
  letGo(): void;
  /** Notes a backup that was not even begun. */
  failed(reason: string): void;
  /** Looks for the newest complete backup anew. */
  refresh(): Promise<void>;
}

interface BackupJobsDeps {
  readonly folder: BackupFolder;
  /** Whether a disk was mounted at the folder when the service started. */
  readonly isMounted: boolean;
  readonly source: BackupSource;
  /** Complete backups of this process that stay; null: all of them. */
  readonly keep: number | null;
  /** As workInProcess has it. */
  readonly hold: (seconds: number) => Promise<readonly number[]>;
  readonly status: {
    note(part: string, trouble: string | null): void;
    backups(figures: BackupFigures): void;
  };
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createBackupJobs(deps: BackupJobsDeps): BackupJobs {
  const { folder, isMounted, source, keep, status, log, now } = deps;
  let running: Running | null = null;
  /** Ids of tasks that have come to run. */
  const begun = new Set<string>();
  let failure: Failure | null = null;
  let figures: BackupFigures = { completedAt: null, completed: 0, failed: 0 };

  function updateFigures(changed: Partial<BackupFigures>): void {
    figures = { ...figures, ...changed };
    status.backups(figures);
  }

  async function refresh(): Promise<void> {
    for (const name of await folder.names()) {
      const { described } = (await folder.find(name)) ?? {};
      if (described === undefined || described === null || described.node !== source.nodeNumber) continue;
      return updateFigures({ completedAt: Date.parse(described.createdAt) });
    }
    updateFigures({ completedAt: null });
  }

  function failed(reason: string): void {
    failure = { at: now(), reason };
    updateFigures({ failed: figures.failed + 1 });
    // /readyz is public, and must not show paths.
    status.note("backups", "the last one failed: its task and the log say why");
  }

  async function completed(): Promise<void> {
    failure = null;
    status.note("backups", null);
    updateFigures({ completed: figures.completed + 1 });
    await refresh();
  }

  /** The one just made stays, wherever a clock that was set back has put its name. @returns how many went */
  async function removeOld(made: string): Promise<number> {
    let [complete, removed] = [1, 0];
    for (const name of keep === null ? [] : await folder.names()) {
      if (name === made) continue;
      const found = await folder.find(name);
      if (found?.described?.node !== source.nodeNumber || ++complete <= (keep ?? 0)) continue;
      await folder.remove(name);
      log.info("backup removed", { name, keep });
      removed++;
    }
    return removed;
  }

  async function make(context: TaskContext): Promise<TaskResult> {
    const { name } = context.task.input as BackupInput;
    const to = join(folder.dir, name);
    const startedAt = performance.now();
    try {
      // Else a backup would fill the disk beneath.
      if (isMounted && !(await isMountPoint(folder.dir))) {
        throw new Error(`${folder.dir}: the disk that was mounted there is not there any more`);
      }
      const made = await worked(context, { kind: "make", source, dir: folder.dir, to }, deps.hold);
      if (made.kind !== "made") throw new Error(made.kind === "failed" ? made.reason : made.kind);
      const { files, bytes, bytesReused, journalID } = made.made;
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      log.info("backup complete", { name, files, bytes, bytesReused, journalID, seconds });
      const removed = await removeOld(name).catch((error: unknown) => {
        log.warn("old backups stay", { reason: failureText(asError(error)) });
        return 0;
      });
      await completed().catch(() => undefined);
      return {
        msg: { name, files_num: files, bytes_num: bytes, reused_num: bytesReused, removed_num: removed },
      };
    } catch (error) {
      await rm(`${to}${unfinished}`, { recursive: true, force: true }).catch(() => undefined);
      context.signal.throwIfAborted();
      const reason = failureText(asError(error));
      log.warn("backup failed", { name, reason });
      failed(reason);
      throw new TaskFailure(reason);
    }
  }

  async function verify(context: TaskContext): Promise<TaskResult> {
    const { name } = context.task.input as BackupInput;
    const end = await worked(context, { kind: "verify", folder: join(folder.dir, name) }, deps.hold).catch(
      (error: unknown): BackupEnd => {
        context.signal.throwIfAborted();
        return { kind: "failed", reason: failureText(asError(error)) };
      },
    );
    if (end.kind !== "verified") throw new TaskFailure(end.kind === "failed" ? end.reason : end.kind);
    const { files, bytes, faults, firstFault } = end.verified;
    const places = faults === 1 ? "1 place is" : `${faults} places are`;
    const fault = firstFault === null ? null : `${places} not as written; the first: ${firstFault}`;
    await folder
      .noteVerified(name, now(), fault)
      .catch((error: unknown) => log.warn("a verification is not noted", { name, error }));
    if (fault === null) return { msg: { name, files_num: files, bytes_num: bytes } };
    log.warn("backup is not as it was written", { name, fault });
    throw new TaskFailure(fault);
  }

  updateFigures({});

  const createBackupKind = (kind: Kind, run: TaskKind["run"]): TaskKind => ({
    resumes: false,
    // It waits for no task of anybody: its work is in another process.
    apart: 1,
    run: async (context) => {
      const { id, input } = context.task;
      begun.add(id);
      running = { kind, name: (input as BackupInput).name, taskID: id };
      try {
        return await run(context);
      } finally {
        running = null;
      }
    },
    // One whose begin could not be stored has left the place to nobody.
    ended: ({ id }) => {
      if (!begun.delete(id)) running = null;
    },
  });

  return {
    kinds: {
      [backupMake]: {
        ...createBackupKind(backupMake, make),
        abandon: (task) =>
          rm(join(folder.dir, `${(task.input as BackupInput).name}${unfinished}`), {
            recursive: true,
            force: true,
          }),
      },
      [backupVerify]: createBackupKind(backupVerify, verify),
    },
    get running() {
      return running;
    },
    get failure() {
      return failure;
    },
    claim: (kind, name) => {
      if (running !== null) throw inProgress(running);
      running = { kind, name, taskID: null };
    },
    letGo: () => {
      running = null;
    },
    failed,
    refresh,
  };
}

/** Runs the work in its process, and reports progress. @throws Error why it cannot, the abort */
async function worked(
  { signal, progress }: TaskContext,
  work: BackupWork,
  hold: BackupJobsDeps["hold"],
): Promise<BackupEnd> {
  // A folder that has gone is not made again.
  await stat(work.kind === "make" ? work.dir : work.folder);
  let reporting: Promise<unknown> = Promise.resolve();
  const end = await workInProcess(work, {
    hold,
    signal,
    progress: (reached) => {
      reporting = reporting.then(() => progress(reached)).catch(() => undefined);
    },
  });
  await reporting;
  return end;
}

function inProgress({ kind, name }: Running): ApiError {
  const what = kind === backupMake ? "a backup is being made" : `backup ${name} is being verified`;
  return new ApiError("IN_PROGRESS", `${what}: one at a time`);
}
