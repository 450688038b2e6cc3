import { mkdir, rm } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createThrottle } from "../../store/files/copy-file.js";
import { systemClock } from "../../store/lib/clock.js";
import { isArchive, packFolder, withUnpacked } from "../backup/archive.js";
import { type BackupMade, backupName, makeBackup, type ServiceHold } from "../backup/backup.js";
import { newestSoundBackup } from "../backup/backup-folder.js";
import { restoreBackup } from "../backup/restore.js";
import type { Config } from "../config/config.js";
import { endTool, lockDataDir } from "../host/lock.js";

export const backupUsage = "tidemark backup <folder | file.tar.gz> [--rate <megabytes a second>]";
export const restoreUsage = "tidemark restore <backup | file.tar.gz>";

type Call = (method: string, path: string, body?: object) => Promise<unknown>;

const defaultRate = 50;
const megabyte = 10 ** 6;
/** How long the service keeps files in place after each asking, and how often it is asked. */
const holdSeconds = 60;
const askEveryMs = 15_000;

/** Makes a backup of the folder of settings, whether its service runs or not. */
export async function backupTool(
  args: readonly string[],
  config: Config,
  createCaller: (config: Config) => Promise<Call | null>,
): Promise<unknown> {
  const [target, ...rest] = args;
  const rate = parseRate(rest);
  if (target === undefined || rate === null) throw new Error(`usage: ${backupUsage}`);
  // The service and what it is busy with go first.
  setPriority(constants.priority.PRIORITY_LOW);
  const to = resolve(target);
  const call = await createCaller(config);
  if (call !== null) return backupTo(to, rate, config, holdService(call));
  const lock = await lockDataDir(config.dataDir, { onLost: endTool });
  try {
    return await backupTo(to, rate, config, null);
  } finally {
    await lock.release();
  }
}

async function backupTo(
  to: string,
  rate: number,
  config: Config,
  service: ServiceHold | null,
): Promise<unknown> {
  const now = systemClock.now();
  const shared = { config, service, throttle: createThrottle(rate * megabyte), now: systemClock.now };
  if (!isArchive(to)) {
    await mkdir(to, { recursive: true, mode: 0o700 });
    const previous = await newestSoundBackup(to);
    return makeBackup({ ...shared, to: join(to, backupName(now, to)), previous });
  }
  await mkdir(dirname(to), { recursive: true });
  const folder = `${to}.folder`;
  await rm(folder, { recursive: true, force: true });
  let made: BackupMade;
  try {
    made = await makeBackup({ ...shared, to: folder, previous: null });
    await packFolder(folder, to);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const { folder: _, bytesReused: __, ...told } = made;
  return { file: to, ...told };
}

/** Asks the service again and again to keep its files, for as long as the backup takes. */
function holdService(call: Call): ServiceHold {
  const extending = new AbortController();
  const ask = async (seconds: number): Promise<readonly number[]> => {
    const answer = await call("POST", "/api/v1/backup_hold", { seconds });
    return (answer as { journalIDs: readonly number[] }).journalIDs;
  };
  let isExtending = false;
  async function keepOn(): Promise<void> {
    while (!extending.signal.aborted) {
      await delay(askEveryMs, undefined, { signal: extending.signal, ref: false }).catch(() => undefined);
      // A failure is ignored: a service that restarts in between gets the next request.
      if (!extending.signal.aborted) await ask(holdSeconds).catch(() => undefined);
    }
  }
  return {
    keep: () => {
      if (!isExtending) void keepOn();
      isExtending = true;
      return ask(holdSeconds);
    },
    release: async () => {
      if (extending.signal.aborted) return;
      extending.abort();
      await ask(0);
    },
  };
}

/** Null if the text is not a rate. */
function parseRate([flag, value, ...more]: readonly string[]): number | null {
  if (flag === undefined) return defaultRate;
  const rate = Number(value);
  return flag === "--rate" && more.length === 0 && rate >= 0.1 && rate <= 100_000 ? rate : null;
}

export async function restoreTool([from, ...more]: readonly string[], config: Config): Promise<unknown> {
  if (from === undefined || more.length > 0) throw new Error(`usage: ${restoreUsage}`);
  const path = resolve(from);
  if (!isArchive(path)) return restoreBackup(path, config);
  const near = dirname(resolve(config.dataDir));
  await mkdir(near, { recursive: true });
  return withUnpacked(path, near, (dir) => restoreBackup(dir, config));
}
