/**
 * The folder in which the service keeps its backups. Nothing in it is believed: what is not a folder of its own with a
 * name of ours is neither listed nor touched, and no link is followed.
 */
import { lstat, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "@hono/zod-openapi";
import { asError } from "../../store/lib/errors.js";
import { replaceFile } from "../host/replace-file.js";
import { backupNameForm, unfinished } from "./backup.js";
import { type Manifest, manifestName, readManifest, sumName } from "./manifest.js";

/** What a backup says of itself. */
interface Described extends Omit<Manifest, "format" | "files"> {
  readonly files: number;
  readonly bytes: number;
}

/** The result of the last check of every byte. */
const verifiedSchema = z.object({
  /** The checksum of the manifest: another backup of the same name has not been looked at. */
  manifest: z.string(),
  /** Milliseconds since 1970. */
  at: z.number().int(),
  /** Null: it is as it was written. */
  fault: z.string().nullable(),
});

export interface StoredBackup {
  readonly name: string;
  readonly folder: string;
  /** `unreadable`: it has a manifest that is not as it was written. */
  readonly state: "complete" | "unfinished" | "unreadable";
  /** By its name; milliseconds since 1970. */
  readonly beginAt: number;
  /** Null unless it is complete. */
  readonly described: Described | null;
  readonly verified: { readonly at: number; readonly fault: string | null } | null;
  /** Why it is unreadable. */
  readonly fault: string | null;
}

export interface BackupFolder {
  readonly dir: string;
  /**
   * The names there, newest first; all, or those that come after one that need not be there any more. @throws Error if
   * the folder cannot be read
   */
  names(after?: string): Promise<string[]>;
  /** Null if it is none of ours, or gone. */
  find(name: string): Promise<StoredBackup | null>;
  /** Every byte of it goes. @throws Error */
  remove(name: string): Promise<void>;
  /** Notes what a look at every byte of it has found. */
  noteVerified(name: string, at: number, fault: string | null): Promise<void>;
}

const manifestBytesMax = 64 * 2 ** 20;
const verifiedBytesMax = 64 * 2 ** 10;
/** Manifests whose contents are remembered. */
const rememberedMax = 1000;

const isWhole = (name: string): boolean => backupNameForm.test(name) && !Number.isNaN(parseBegin(name));
export const isBackupName = (name: string): boolean =>
  isWhole(name.endsWith(unfinished) ? name.slice(0, -unfinished.length) : name);
const verifiedFile = (name: string): string => `${name}.verified.json`;
const numerically = new Intl.Collator("en", { numeric: true });

export function createBackupFolder(dir: string): BackupFolder {
  const remembered = new Map<string, { readonly version: string; readonly described: Described }>();

  async function describe(name: string, version: string): Promise<Described> {
    const known = remembered.get(name);
    if (known?.version === version) return known.described;
    const { format: _, files, ...told } = await readManifest(join(dir, name));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const described = { ...told, files: files.length, bytes };
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(name, { version, described });
    return described;
  }

  async function readVerified(name: string): Promise<StoredBackup["verified"]> {
    const path = join(dir, verifiedFile(name));
    if ((await fileVersion(path, verifiedBytesMax)) === null) return null;
    const parsed = verifiedSchema.safeParse(parseJSON(await readFile(path, "utf8")));
    if (!parsed.success || parsed.data.manifest !== (await readChecksum(name))) return null;
    return { at: parsed.data.at, fault: parsed.data.fault };
  }

  const readChecksum = (name: string): Promise<string> => readFile(join(dir, name, sumName), "utf8");

  async function lookAt(name: string): Promise<StoredBackup> {
    const shared = {
      name,
      folder: join(dir, name),
      beginAt: parseBegin(name),
      verified: null,
      described: null,
    };
    try {
      const version = await fileVersion(join(dir, name, manifestName), manifestBytesMax);
      const hasSum = await fileVersion(join(dir, name, sumName), verifiedBytesMax);
      if (version === null || hasSum === null) throw new Error("its manifest cannot be read");
      const described = await describe(name, version);
      const verified = await readVerified(name);
      return { ...shared, state: "complete", described, verified, fault: null };
    } catch (error) {
      return { ...shared, state: "unreadable", fault: asError(error).message };
    }
  }

  return {
    dir,
    names: async (after) => {
      const found: string[] = [];
      for (const entry of await readdir(dir, { withFileTypes: true })) {
        if (!entry.isDirectory() || !isBackupName(entry.name)) continue;
        if (after !== undefined && numerically.compare(entry.name, after) >= 0) continue;
        // A folder without a manifest is somebody else's.
        if (isWhole(entry.name) && !(await isThere(join(dir, entry.name, manifestName)))) continue;
        found.push(entry.name);
      }
      return found.sort((a, b) => numerically.compare(b, a));
    },
    find: async (name) => {
      if (!isBackupName(name) || !(await isFolder(join(dir, name)))) return null;
      if (!isWhole(name)) {
        const shared = { name, folder: join(dir, name), beginAt: parseBegin(name) };
        return { ...shared, state: "unfinished", described: null, verified: null, fault: null };
      }
      return (await isThere(join(dir, name, manifestName))) ? lookAt(name) : null;
    },
    remove: async (name) => {
      const path = join(dir, name);
      const work = isWhole(name) ? `${path}${unfinished}` : path;
      if (work !== path) {
        await rm(work, { recursive: true, force: true });
        // From here on it is no backup, should the rest of it stay.
        await rename(path, work);
        await rm(join(dir, verifiedFile(name)), { force: true });
      }
      await rm(work, { recursive: true, force: true });
      remembered.delete(name);
    },
    noteVerified: async (name, at, fault) => {
      const told: z.output<typeof verifiedSchema> = { manifest: await readChecksum(name), at, fault };
      await replaceFile(join(dir, verifiedFile(name)), `${JSON.stringify(told)}\n`);
    },
  };
}

/**
 * The folder of the newest complete backup among those of one folder, from which the next one may take what has not
 * changed; none that was found damaged: its damage would go on. Null if there is none.
 */
export async function newestSoundBackup(dir: string): Promise<string | null> {
  if (!(await isFolder(dir))) return null;
  const { names, find } = createBackupFolder(dir);
  for (const name of await names()) {
    const found = await find(name);
    if (found?.state === "complete" && (found.verified?.fault ?? null) === null) return found.folder;
  }
  return null;
}

/** A text that identifies the version of a file; null for anything else than a file, or if it is too large. */
async function fileVersion(path: string, bytesMax: number): Promise<string | null> {
  const found = await lstat(path, { bigint: true }).catch(() => null);
  if (found === null || !found.isFile() || found.size > BigInt(bytesMax)) return null;
  return `${found.ino}:${found.size}:${found.mtimeNs}`;
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

const isFolder = (path: string): Promise<boolean> =>
  lstat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** Whether a disk of its own is mounted there. */
export async function isMountPoint(dir: string): Promise<boolean> {
  const [there, above] = await Promise.all([dir, dirname(dir)].map((path) => stat(path).catch(() => null)));
  return there != null && above != null && there.dev !== above.dev;
}

/** `20261121T100000Z`, with or without something after it. */
function parseBegin(name: string): number {
  return Date.parse(name.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z.*$/, "$1-$2-$3T$4:$5:$6Z"));
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
