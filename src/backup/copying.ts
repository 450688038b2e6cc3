import { existsSync } from "node:fs";
import { link, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { copyFile, hashFile, type Throttle } from "../../store/files/copy-file.js";
import { type BackupFile, type Manifest, manifestName, readManifest, sumName } from "./manifest.js";

/** Copies single files and folders; those that have not changed since an earlier backup are links to its copies. */
export interface Copying {
  readonly throttle: Throttle;
  reuse(from: string, to: string): Promise<boolean>;
  /** Copies every file of a folder that is not copied yet. */
  folder(name: string): Promise<void>;
  /** Copies what has come to a journal since its folder was copied. */
  journalSince(folder: string): Promise<void>;
  /** All files of the backup with their checksums. */
  describe(): Promise<BackupFile[]>;
  bytesReused(): number;
}

/** @param previous an earlier backup, whose files stand in for originals that have not changed */
export async function createCopying(
  from: string,
  work: string,
  previous: string | null,
  throttle: Throttle,
): Promise<Copying> {
  const known = new Map((await readPreviousFiles(previous)).map((file) => [file.path, file]));
  /** Originals by the copy's path, as they were when they were copied. */
  const sources = new Map<string, string | null>();
  const reused = new Map<string, BackupFile>();

  async function reuse(source: string, target: string): Promise<boolean> {
    const path = relativePath(work, target);
    const now = await readSourceState(source);
    sources.set(path, now);
    // It may be copied a second time, and be the earlier one's no more.
    reused.delete(path);
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
    if ((await readSourceState(source)) !== sources.get(relativePath(work, target)))
      sources.set(relativePath(work, target), null);
  }

  async function folder(name: string): Promise<void> {
    await mkdir(join(work, name), { recursive: true, mode: 0o700 });
    for (const entry of await readdir(join(from, name), { withFileTypes: true })) {
      const inner = join(name, entry.name);
      if (entry.name.endsWith(newFileSuffix)) continue;
      if (entry.isDirectory()) await folder(inner);
      else if (!existsSync(join(work, inner))) await copyOne(join(from, inner), join(work, inner));
    }
  }

  return {
    throttle,
    reuse,
    folder,
    journalSince: async (journal) => {
      const [there, copy] = [join(from, journal), join(work, journal)];
      const names = await readdir(copy);
      // The segment that was written to then, and what is no segment.
      const last = names.filter(isSegment).sort().at(-1);
      for (const name of names.filter((one) => one === last || !isSegment(one))) {
        if (existsSync(join(there, name))) await copyOne(join(there, name), join(copy, name));
      }
      await folder(journal);
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

/** The files of an earlier backup; none if its manifest cannot be read. */
async function readPreviousFiles(previous: string | null): Promise<Manifest["files"]> {
  if (previous === null) return [];
  return readManifest(previous).then(
    ({ files }) => files,
    () => [],
  );
}

/** Identifies the version of a file; null for a database with a log that is not in the file yet. */
async function readSourceState(path: string): Promise<string | null> {
  const log = await stat(`${path}-wal`).catch(() => null);
  if (log !== null && log.size > 0) return null;
  const found = await stat(path, { bigint: true });
  return `${found.ino}:${found.size}:${found.mtimeNs}`;
}

/** The suffix of a file that is about to be renamed, and may be gone when it is copied. */
const newFileSuffix = ".new";

const isSegment = (name: string): boolean => name.endsWith(".journal");

const relativePath = (dir: string, path: string): string => relative(dir, path).replaceAll("\\", "/");

/** Every file below a folder, by its path, in a stable order; not the manifest. */
export async function pathsBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relativePath(dir, join(entry.parentPath, entry.name)))
    .filter((path) => path !== manifestName && path !== sumName)
    .sort();
}
