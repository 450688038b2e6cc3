/** The backups that the service makes of itself: begun by somebody who asks, or by their schedule. */
import { resolve } from "node:path";
import type { Zone } from "../../query/zone.js";
import { asError } from "../../store/lib/errors.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import { nextTime, parseCron } from "../commands/cron.js";
import { type BackupConfig, type Config, ConfigError } from "../config/config.js";
import { ApiError } from "../http/errors.js";
import type { Logger } from "../observability/log.js";
import type { Tasks } from "../tasks/runner.js";
import { backupName, isInsideFolder } from "./backup.js";
import type { BackupFolder, StoredBackup } from "./backup-folder.js";
import { type BackupInput, type BackupJobs, backupMake, backupVerify } from "./backup-jobs.js";
import { failureText } from "./failure-text.js";

/** A task that was begun. */
interface Begun {
  readonly taskID: string;
  readonly name: string;
}

export interface Backups {
  readonly settings: BackupConfig;
  readonly folder: BackupFolder;
  readonly jobs: Pick<BackupJobs, "running" | "failure">;
  /** When the schedule is next due, milliseconds since 1970; null without one. */
  readonly nextAt: number | null;
  /** @throws ApiError IN_PROGRESS, RESOURCE_LIMITED */
  begin(actor: Actor): Promise<Begun>;
  /** @throws ApiError DATA_NOT_FOUND, IN_PROGRESS, RESOURCE_LIMITED */
  verify(actor: Actor, name: string): Promise<Begun>;
  /** @throws ApiError DATA_NOT_FOUND, IN_PROGRESS, SERVICE_UNAVAILABLE */
  remove(actor: Actor, name: string): Promise<void>;
  close(): void;
}

interface BackupsDeps {
  readonly settings: BackupConfig;
  readonly folder: BackupFolder;
  readonly jobs: BackupJobs;
  readonly tasks: Pick<Tasks, "start">;
  readonly zone: Zone;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The service itself, in the tenant that runs the deployment. */
const itself: Actor = { tenant: 1, userIntID: null, username: null };
/** A clock that is set is noticed after this long at the latest. */
const sleepMsMax = 60_000;

/** Checks the settings that need the disk or a parser for that. @throws ConfigError */
export async function checkBackupSettings({ backup, dataDir }: Config): Promise<void> {
  if (backup === null) return;
  const problems: string[] = [];
  if (await isInsideFolder(dataDir, backup.dir)) {
    problems.push(
      `BACKUP_DIR: ${resolve(backup.dir)} is within ${dataDir}: a backup of a folder cannot be in it`,
    );
  }
  if (backup.schedule !== null && parseCron(backup.schedule) === null) {
    problems.push("BACKUP_SCHEDULE: must be a cron expression of five fields, such as 0 3 * * *");
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Why the folder cannot be used now, in words. */
export function folderFailure(error: unknown): ApiError {
  return new ApiError(
    "SERVICE_UNAVAILABLE",
    `BACKUP_DIR cannot be used: ${failureText(asError(error))}`,
    {},
    { "Retry-After": "5" },
  );
}

export function openBackups({ settings, folder, jobs, tasks, zone, log, now }: BackupsDeps): Backups {
  async function start(actor: Actor, kind: typeof backupMake | typeof backupVerify, name: string) {
    jobs.claim(kind, name);
    try {
      const input: BackupInput = { name };
      return { taskID: await tasks.start(actor, kind, input), name };
    } catch (error) {
      jobs.letGo();
      throw error;
    }
  }

  const begin = (actor: Actor): Promise<Begun> => start(actor, backupMake, backupName(now(), folder.dir));

  async function known(name: string): Promise<StoredBackup> {
    const found = await folder.find(name);
    if (found === null) throw new ApiError("DATA_NOT_FOUND", "there is no such backup in BACKUP_DIR");
    return found;
  }

  const timetable = scheduled(settings.schedule, zone, now, () =>
    begin(itself).catch((error: unknown) => {
      const reason = asError(error).message;
      log.warn("a scheduled backup is not begun", { reason });
      // One that goes on is no failure.
      if (!(error instanceof ApiError && error.errorCode === "IN_PROGRESS")) jobs.failed(reason);
    }),
  );
  jobs.refresh().catch((error: unknown) => {
    log.warn("BACKUP_DIR cannot be read yet", { reason: failureText(asError(error)) });
  });

  return {
    settings,
    folder,
    jobs,
    get nextAt() {
      return timetable.nextAt;
    },
    begin,
    verify: async (actor, name) => {
      const { state } = await known(name);
      if (state !== "complete") {
        throw new ApiError("PARAMETER_INVALID", `there is nothing to verify in it: it is ${state}`);
      }
      return start(actor, backupVerify, name);
    },
    remove: async (actor, name) => {
      await known(name);
      const { running } = jobs;
      if (running !== null && name.startsWith(running.name)) {
        throw new ApiError("IN_PROGRESS", "a task works on this backup");
      }
      await folder.remove(name).catch((error: unknown) => {
        throw folderFailure(error);
      });
      log.info("backup removed", { name, by: actor.username });
      await jobs.refresh().catch(() => undefined);
    },
    close: timetable.stop,
  };
}

/** Acts whenever the expression comes true; what was due while the service was down is not made up for. */
function scheduled(text: string | null, zone: Zone, now: () => number, act: () => Promise<unknown>) {
  const cron = text === null ? null : parseCron(text);
  let timer: NodeJS.Timeout | undefined;
  let nextAt = cron === null ? null : nextTime(cron, zone, now());

  function wait(): void {
    if (cron === null || nextAt === null) return;
    timer = setTimeout(
      () => {
        const isDue = nextAt !== null && now() >= nextAt;
        // Also where it is not due: the clock may have been set back.
        nextAt = nextTime(cron, zone, now());
        if (isDue) void act();
        wait();
      },
      Math.min(Math.max(0, nextAt - now()), sleepMsMax),
    );
  }

  wait();
  return {
    get nextAt() {
      return nextAt;
    },
    stop: () => clearTimeout(timer),
  };
}
