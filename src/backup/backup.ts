/** Copies a data folder that may be in use, so that the copy is what a crash at one moment would have left. */
import { existsSync } from "node:fs";
import { link, mkdir, readdir, realpath, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { beginDatabaseCopy, copyDatabase } from "../../store/files/copy-database.js";
import { copyFile, hashFile, type Throttle } from "../../store/files/copy-file.js";
import { lastRecordID } from "../../store/journal/last-record.js";
import { syncFolder } from "../../store/journal/segment.js";
import { copySeries } from "../../store/series/embedded/copy-series.js";
import { type Config, engineOf } from "../config/config.js";
import { readBuildInfo } from "../host/build-info.js";
import {
  type BackupFile,
  type Manifest,
  manifestName,
  readManifest,
  sumName,
  writeManifest,
} from "./manifest.js";

/** The running service, as far as a backup asks it. */
export interface ServiceHold {
  /** Keeps in place what retention would remove. Returns the id up to which everything is on disk. */
  keep(): Promise<number>;
  release(): Promise<void>;
}

/** What is copied, as the settings of its service say. */
export interface BackupSource extends Pick<Config, "dataDir" | "nodeNumber"> {
  readonly influx: Pick<NonNullable<Config["influx"]>, "url" | "bucket"> | null;
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
  readonly journalID: number;
  readonly files: number;
  readonly bytes: number;
  /** Of the bytes, those that the earlier backup has already. */
  readonly bytesReused: number;
  readonly elsewhere: readonly string[];
}

/** How the name of a folder ends that is not a whole backup. */
export const unfinished = ".unfinished";

/** What belongs to one process, can be made again, or is about to be renamed and then no longer there. */
const leftOut =
  /^(?:lock\.db.*|service\.json|reserve|work|tasks|.*-shm|.*-wal|.*\.new|restoring|move-series\.json.*)$/;
const databases = ["events.db", "sessions.db"] as const;

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
    const copying = await createCopying(options, work);
    await service?.keep();
    const elsewhere = elsewhereOf(config);
    if (existsSync(join(from, "series"))) {
      await copySeries(join(from, "series"), join(work, "series"), copying);
    }
    for (const name of databases) {
      if (existsSync(join(from, name))) await copyDatabase(join(from, name), join(work, name), throttle);
    }
    await copying.folder("journal");
    const metadata = existsSync(join(from, "metadata.db"))
      ? await beginDatabaseCopy(join(from, "metadata.db"), join(work, "metadata.db"), throttle)
      : null;
    // What is acknowledged up to here knows only records that are in the metadata's log by now, and what the metadata
    // know of the journal is in what is copied of the journal afterwards.
    const committedID = (await service?.keep()) ?? null;
    await metadata?.finish();
    await copying.journalSince();
    for (const entry of await readdir(from, { withFileTypes: true })) {
      if (leftOut.test(entry.name) || existsSync(join(work, entry.name))) continue;
      if (entry.isDirectory()) await copying.folder(entry.name);
      else if (entry.isFile()) await copyFile(join(from, entry.name), join(work, entry.name), throttle);
    }
    await service?.release();
    const files = await copying.describe();
    const journalID = committedID ?? (await lastRecordID(join(work, "journal")));
    await writeManifest(work, {
      format: 1,
      version: (await readBuildInfo()).version,
      createdAt: new Date(options.now()).toISOString(),
      node: config.nodeNumber,
      journalID,
      metadata: config.libsql === null ? "file" : "elsewhere",
      points: engineOf(config),
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

function elsewhereOf({ influx, libsql }: BackupSource): string[] {
  const found: string[] = [];
  if (influx !== null) {
    found.push(
      `points: bucket ${influx.bucket} of ${influx.url}; back it up there with: influx backup --bucket ${influx.bucket} <folder>`,
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
  if (await isWithin(from, dirname(to))) {
    throw new Error(`${to} is within ${from}: a backup of a folder cannot be in it`);
  }
}

/** Whether a folder is the other one or below it, whatever links lead there. Neither needs to be there yet. */
export async function isWithin(outer: string, folder: string): Promise<boolean> {
  const inner = relative(await placeOf(outer), await placeOf(folder));
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}

/** A path with the links of what is there of it followed. */
async function placeOf(path: string): Promise<string> {
  const whole = resolve(path);
  let above = whole;
  while (!existsSync(above)) above = dirname(above);
  return join(await realpath(above), relative(above, whole));
}

/** Space that stays free beside the copy. */
const spareBytes = 64 * 2 ** 20;

/** @throws Error before anything is copied, if it cannot fit */
async function refuseFullDisk(from: string, to: string): Promise<void> {
  const needed = await sizeOf(from);
  const { bavail, bsize } = await statfs(to);
  const free = bavail * bsize;
  if (free < needed + spareBytes) {
    throw new Error(`${to} has ${free} bytes free, and the backup may need ${needed + spareBytes}`);
  }
}

/** Bytes that a backup of the folder may have. */
export async function sizeOf(dir: string): Promise<number> {
  let total = 0;
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (leftOut.test(entry.name) && !entry.name.endsWith("-wal")) continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory()) total += await sizeOf(path);
    else
      total += await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return total;
}

interface Copying {
  readonly throttle: Throttle;
  reuse(from: string, to: string): Promise<boolean>;
  /** Copies every file of a folder that is not copied yet. */
  folder(name: string): Promise<void>;
  /** Copies what has come to the journal since its folder was copied. */
  journalSince(): Promise<void>;
  /** All files of the backup with their checksums. */
  describe(): Promise<BackupFile[]>;
  bytesReused(): number;
}

async function createCopying({ config, previous, throttle }: BackupOptions, work: string): Promise<Copying> {
  const from = config.dataDir;
  const known = new Map((await filesOf(previous)).map((file) => [file.path, file]));
  /** Originals by the copy's path, as they were when they were copied. */
  const sources = new Map<string, string | null>();
  const reused = new Map<string, BackupFile>();

  async function reuse(source: string, target: string): Promise<boolean> {
    const path = pathOf(work, target);
    const now = await sourceOf(source);
    sources.set(path, now);
    const earlier = known.get(path);
    if (previous === null || earlier === undefined || now === null || earlier.source !== now) return false;
    try {
      await link(join(previous, path), target);
    } catch {
      // On another file system, or gone: it is copied.
      return false;
    }
    reused.set(path, earlier);
    return true;
  }

  async function copyOne(source: string, target: string): Promise<void> {
    await rm(target, { force: true });
    if (await reuse(source, target)) return;
    await copyFile(source, target, throttle);
    if ((await sourceOf(source)) !== sources.get(pathOf(work, target)))
      sources.set(pathOf(work, target), null);
  }

  async function folder(name: string): Promise<void> {
    await mkdir(join(work, name), { recursive: true, mode: 0o700 });
    for (const entry of await readdir(join(from, name), { withFileTypes: true })) {
      const inner = join(name, entry.name);
      if (entry.isDirectory()) await folder(inner);
      else if (!existsSync(join(work, inner))) await copyOne(join(from, inner), join(work, inner));
    }
  }

  return {
    throttle,
    reuse,
    folder,
    journalSince: async () => {
      const [there, copy] = [join(from, "journal"), join(work, "journal")];
      const names = await readdir(copy);
      // The segment that was written to then, and what is no segment.
      const last = names.filter(isSegment).sort().at(-1);
      for (const name of names.filter((one) => one === last || !isSegment(one))) {
        if (existsSync(join(there, name))) await copyOne(join(there, name), join(copy, name));
      }
      await folder("journal");
    },
    describe: async () => {
      const files: BackupFile[] = [];
      for (const path of await pathsBelow(work)) {
        const found = reused.get(path) ?? (await hashFile(join(work, path), throttle));
        files.push({ path, bytes: found.bytes, sha256: found.sha256, source: sources.get(path) ?? null });
      }
      return files;
    },
    bytesReused: () => [...reused.values()].reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Of an earlier backup; none of one that cannot be read, which is then no help. */
async function filesOf(previous: string | null): Promise<Manifest["files"]> {
  if (previous === null) return [];
  return readManifest(previous).then(
    ({ files }) => files,
    () => [],
  );
}

/** Tells one version of a file from another; null for a database with a log that is not in the file yet. */
async function sourceOf(path: string): Promise<string | null> {
  const log = await stat(`${path}-wal`).catch(() => null);
  if (log !== null && log.size > 0) return null;
  const found = await stat(path, { bigint: true });
  return `${found.ino}:${found.size}:${found.mtimeNs}`;
}

const isSegment = (name: string): boolean => name.endsWith(".journal");

const pathOf = (dir: string, path: string): string => relative(dir, path).replaceAll("\\", "/");

/** Every file below a folder, by its path, in a stable order; not the manifest. */
export async function pathsBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => pathOf(dir, join(entry.parentPath, entry.name)))
    .filter((path) => path !== manifestName && path !== sumName)
    .sort();
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
