/** Backups as one file, .tar.gz. */
import { existsSync } from "node:fs";
import { mkdtemp, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create, extract } from "tar";
import { syncFolder } from "../../store/journal/segment.js";

export const isArchive = (path: string): boolean => /\.(?:tar\.gz|tgz)$/.test(path);

/** Packs a folder into a file, which appears under its name once it is whole. */
export async function packFolder(dir: string, file: string): Promise<void> {
  const work = `${file}.unfinished`;
  await rm(work, { force: true });
  try {
    await create(
      { file: work, cwd: dir, gzip: { level: 3 }, portable: true, mode: 0o600 } as Parameters<
        typeof create
      >[0] & { file: string },
      [...(await readdir(dir))],
    );
    const handle = await open(work, "r+");
    await handle.chmod(0o600);
    await handle.sync();
    await handle.close();
    await rename(work, file);
    await syncFolder(dirname(file));
  } finally {
    await rm(work, { force: true });
  }
}

/** Unpacks a file into a folder beside `near` for the time of the action. */
export async function withUnpacked<T>(
  file: string,
  near: string,
  action: (dir: string) => Promise<T>,
): Promise<T> {
  if (!existsSync(file)) throw new Error(`there is no ${file}`);
  const dir = await mkdtemp(join(near, ".tidemark-backup-"));
  try {
    await extract({ file, cwd: dir, strict: true });
    return await action(dir);
  } finally {
    // It holds keys. An extraction that has failed may still be writing some of its files.
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
