/** Copies a data folder that may be in use, so that the copy is what a crash at one moment would have left. */
import { existsSync } from "node:fs";
import { mkdir, readdir, realpath, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { beginDatabaseCopy } from "../../store/files/copy-database.js";
import { copyFile, type Throttle } from "../../store/files/copy-file.js";
import { syncFolder } from "../../store/journal/segment.js";
import { copySeries } from "../../store/series/embedded/copy-series.js";
import { type Config, seriesEngine } from "../config/config.js";
import { readBuildInfo } from "../host/build-info.js";
import { shardsFolder } from "../host/shard-folders.js";
import { createShardCopying } from "./copy-shards.js";
import { type Copying, createCopying } from "./copying.js";
import { writeManifest } from "./manifest.js";

/** The running service, as far as a backup asks it. */
export interface ServiceHold {
  /** Keeps in place what retention would remove. Returns the id of each shard up to which everything is on disk. */
  keep(): Promise<readonly number[]>;
  release(): Promise<void>;
}

/** The parts to copy, by the settings of the service. */
export interface BackupSource extends Pick<Config, "dataDir" | "nodeNumber"> {
  readonly influx: {
    readonly servers: readonly { readonly url: string }[];
    readonly bucket: string;
  } | null;
  readonly libsql: Pick<NonNullable<Config["libsql"]>, "url"> | null;
}

interface BackupOptions {
  readonly config: BackupSource;
  /** Null if none runs, and the caller holds the folder's lock. */
  readonly service: ServiceHold | null;
  /** A folder that does not exist yet. */
  readonly to: string;
  /** An earlier backup, whose files stand in for originals that have not changed. */
  readonly previous: string | null;
  readonly throttle: Throttle;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface BackupMade {
  readonly folder: string;
  /** For each shard the id up to which it is complete in the backup, and the highest of these. */
  readonly journalIDs: readonly number[];
  readonly journalID: number;
  readonly files: number;
  readonly bytes: number;
  /** The part of `bytes` in files that are linked to those of the earlier backup. */
  readonly bytesReused: number;
  readonly elsewhere: readonly string[];
}

/** How the name of a folder ends that is not a whole backup. */
export const unfinished = ".unfinished";

/** What belongs to one process, can be made again, or is about to be renamed and then no longer there. */
const excluded =
  /^(?:lock\.db.*|service\.json|reserve|work|tasks|.*-shm|.*-wal|.*\.new|restoring|move-series\.json.*)$/;

/** Makes a backup. The folder appears under its name once it is whole. */
export async function makeBackup(options: BackupOptions): Promise<BackupMade> {
  const { config, service, to, throttle } = options;
  const from = config.dataDir;
  if (existsSync(to)) throw new Error(`${to} exists already`);
  await refuseWithin(from, to);
  const work = `${to}${unfinished}`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true, mode: 0o700 });
  try {
    await refuseFullDisk(from, work);
    const copying = await createCopying(from, work, options.previous, throttle);
    const shards = createShardCopying(from, work, copying);
    await service?.keep();
    const elsewhere = listElsewhere(config);
    if (existsSync(join(from, "series"))) {
      await copySeries(join(from, "series"), join(work, "series"), copying);
    }
    await shards.copy();
    const metadata = existsSync(join(from, "metadata.db"))
      ? await beginDatabaseCopy(join(from, "metadata.db"), join(work, "metadata.db"), throttle)
      : null;
    // Messages acknowledged up to here refer only to records that are already in the metadata's log. The journal is
    // copied afterwards, so that the copy has all journal ids to which the metadata refer.
    const committedIDs = await service?.keep();
    await metadata?.finish();
    for (const folder of await shards.since()) await copyRest(from, work, folder, copying);
    await service?.release();
    const files = await copying.describe();
    const journalIDs = [...(committedIDs ?? (await shards.lastIDs()))];
    const journalID = Math.max(0, ...journalIDs);
    await writeManifest(work, {
      format: 1,
      version: (await readBuildInfo()).version,
      createdAt: new Date(options.now()).toISOString(),
      node: config.nodeNumber,
      journalID,
      journalIDs,
      metadata: config.libsql === null ? "file" : "elsewhere",
      points: seriesEngine(config),
      elsewhere,
      files,
    });
    await syncFolder(work);
    await rename(work, to);
    await syncFolder(dirname(to));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return {
      folder: to,
      journalID,
      journalIDs,
      files: files.length,
      bytes,
      bytesReused: copying.bytesReused(),
      elsewhere,
    };
  } catch (error) {
    await rm(work, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  } finally {
    await service?.release().catch(() => undefined);
  }
}

/** Copies what is not copied yet of the data folder, or of a shard's folder within it. */
async function copyRest(from: string, work: string, folder: string, copying: Copying): Promise<void> {
  for (const entry of await readdir(join(from, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (path === shardsFolder || excluded.test(entry.name) || existsSync(join(work, path))) continue;
    if (entry.isDirectory()) await copying.folder(path);
    else if (entry.isFile()) await copyFile(join(from, path), join(work, path), copying.throttle);
  }
}

function listElsewhere({ influx, libsql }: BackupSource): string[] {
  const found: string[] = [];
  if (influx !== null) {
    found.push(
      `points: bucket ${influx.bucket} of ${influx.servers.map(({ url }) => url).join(", ")}; back it up there with: influx backup --bucket ${influx.bucket} <folder>`,
    );
  }
  if (libsql !== null)
    found.push(
      `metadata: ${new URL(libsql.url).origin === "null" ? libsql.url : new URL(libsql.url).host}; back them up there`,
    );
  return found;
}

/** @throws Error for a backup that would be a part of what it is of */
async function refuseWithin(from: string, to: string): Promise<void> {
  if (await isInsideFolder(from, dirname(to))) {
    throw new Error(`${to} is within ${from}: a backup of a folder cannot be in it`);
  }
}

/** Whether a folder is the other one or below it, whatever links lead there. Neither needs to be there yet. */
export async function isInsideFolder(outer: string, folder: string): Promise<boolean> {
  const inner = relative(await resolvePlace(outer), await resolvePlace(folder));
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}

/** A path with the links of what is there of it followed. */
async function resolvePlace(path: string): Promise<string> {
  const whole = resolve(path);
  let above = whole;
  while (!existsSync(above)) above = dirname(above);
  return join(await realpath(above), relative(above, whole));
}

/** Space that stays free beside the copy. */
const spareBytes = 64 * 2 ** 20;

/** @throws Error before anything is copied, if it cannot fit */
async function refuseFullDisk(from: string, to: string): Promise<void> {
  const needed = await measureFolder(from);
  const { bavail, bsize } = await statfs(to);
  const free = bavail * bsize;
  if (free < needed + spareBytes) {
    throw new Error(`${to} has ${free} bytes free, and the backup may need ${needed + spareBytes}`);
  }
}

/** Bytes that a backup of the folder may have. */
export async function measureFolder(dir: string): Promise<number> {
  let total = 0;
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (excluded.test(entry.name) && !entry.name.endsWith("-wal")) continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory()) total += await measureFolder(path);
    else
      total += await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return total;
}

/** Names of backups within a folder: the time at which each began. */
export const backupNameForm = /^\d{8}T\d{6}Z(?:-\d{1,6})?$/;

/** A name for a backup made now, by which they sort. */
export function backupName(now: number, dir: string): string {
  const name = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  for (let n = 1; ; n++) {
    const path = join(dir, n === 1 ? name : `${name}-${n}`);
    if (!existsSync(path)) return basename(path);
  }
}
