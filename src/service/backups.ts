import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Zone } from "../../query/zone.js";
import { createBackupFolder, isMountPoint } from "../backup/backup-folder.js";
import { createBackupJobs } from "../backup/backup-jobs.js";
import { type Backups, openBackups } from "../backup/backups.js";
import { failureText } from "../backup/failure-text.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { Status } from "../observability/status.js";
import type { Tasks } from "../tasks/runner.js";
import type { TaskKind } from "../tasks/task-kind.js";

interface PrepareBackupsDeps {
  readonly config: Config;
  readonly status: Status;
  readonly hold: (seconds: number) => Promise<readonly number[]>;
  readonly zone: Zone;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What the tasks must know before they open, and what needs them. */
interface Prepared {
  readonly kinds: Readonly<Record<string, TaskKind>>;
  open(tasks: Tasks): Backups;
}

/**
 * Null if no folder for backups is set. One that is not there yet is made now, and never later: what has gone may be a
 * disk that is to come back there.
 */
export async function prepareBackups(deps: PrepareBackupsDeps): Promise<Prepared | null> {
  const { config, status, hold, zone, log, now } = deps;
  const { backup: settings, dataDir, nodeNumber, influx, libsql } = config;
  if (settings === null) return null;
  const dir = resolve(settings.dir);
  await mkdir(dir, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") log.warn("BACKUP_DIR cannot be made", { dir, reason: failureText(error) });
  });
  const folder = createBackupFolder(dir);
  const isMounted = await isMountPoint(dir);
  const source = {
    dataDir: resolve(dataDir),
    nodeNumber,
    influx: influx && { servers: influx.servers.map(({ url }) => ({ url })), bucket: influx.bucket },
    libsql: libsql && { url: libsql.url },
  };
  const jobs = createBackupJobs({ folder, isMounted, source, keep: settings.keep, hold, status, log, now });
  return {
    kinds: jobs.kinds,
    open: (tasks) => openBackups({ settings: { ...settings, dir }, folder, jobs, tasks, zone, log, now }),
  };
}
