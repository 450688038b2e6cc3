/** Puts a backup into a data folder that is empty. */
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { copyFile, unthrottled } from "../../store/files/copy-file.js";
import { syncFolder } from "../../store/journal/segment.js";
import type { Config } from "../config/config.js";
import { endTool, lockDataDir } from "../host/lock.js";
import { restoringMark } from "../host/restoring.js";
import { readManifest } from "./manifest.js";

interface Restored {
  readonly folder: string;
  readonly journalID: number;
  readonly journalIDs: readonly number[];
  readonly createdAt: string;
  readonly files: number;
  readonly bytes: number;
  /** Parts that are not in the backup and must be restored by other means. */
  readonly missing: readonly string[];
}

/**
 * Copies and checks every file. A restore that is ended in its midst leaves a folder that no service starts with, and
 * that the next restore clears.
 * @throws Error over existing data, or for a backup that is not as it was written
 */
export async function restoreBackup(from: string, config: Config): Promise<Restored> {
  const manifest = await readManifest(from);
  const to = config.dataDir;
  await mkdir(to, { recursive: true, mode: 0o700 });
  const isUnfinished = existsSync(join(to, restoringMark));
  const there = (await readdir(to)).filter((name) => name !== "lost+found" && !name.startsWith("lock.db"));
  if (there.length > 0 && !isUnfinished) {
    throw new Error(
      `${to} is not empty: a restore never writes over existing data; it holds ${there.slice(0, 5).join(", ")}`,
    );
  }
  const lock = await lockDataDir(to, { onLost: endTool });
  try {
    await writeFile(join(to, restoringMark), `${from}\n`, { flush: true });
    await syncFolder(to);
    for (const name of there.filter((one) => one !== restoringMark)) {
      await rm(join(to, name), { recursive: true, force: true });
    }
    const folders = new Set<string>();
    for (const { path, bytes, sha256 } of manifest.files) {
      const target = join(to, path);
      if (!folders.has(dirname(target))) {
        await mkdir(dirname(target), { recursive: true, mode: 0o700 });
        folders.add(dirname(target));
      }
      const copied = await copyFile(join(from, path), target, unthrottled);
      if (copied.bytes !== bytes || copied.sha256 !== sha256) {
        throw new Error(
          `${join(from, path)} is not as it was written: tidemark verify ${from} says what is broken`,
        );
      }
    }
    for (const folder of withParents(folders, to)) await syncFolder(folder);
    await rm(join(to, restoringMark));
    await syncFolder(to);
  } finally {
    await lock.release();
  }
  const { journalID, journalIDs = [journalID], createdAt, files } = manifest;
  return {
    folder: to,
    journalID,
    journalIDs,
    createdAt,
    files: files.length,
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    missing: listMissing(
      manifest.elsewhere,
      files.some(({ path }) => path === "master.key"),
    ),
  };
}

/** The folders, and those between them and the one that they are all in. */
function withParents(folders: ReadonlySet<string>, top: string): Set<string> {
  const all = new Set<string>();
  for (const folder of folders) {
    for (let one = folder; one !== top && !all.has(one); one = dirname(one)) all.add(one);
  }
  return all;
}

function listMissing(elsewhere: readonly string[], hasKey: boolean): string[] {
  const key = "MASTER_KEY: it was given in the environment; start with the same one";
  return [...elsewhere, ...(hasKey ? [] : [key])];
}
