import { randomBytes } from "node:crypto";
import { rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../observability/log.js";

/**
 * A file that reserves space for a start on a full disk, because databases cannot even be read without space
 * for their shared memory. Such a start gives it up; it is made again once there is space.
 */
const reserveBytes = 8 * 2 ** 20;
/** The most space that a start needs. */
const startBytes = 4 * 2 ** 20;

const reservePath = (dir: string): string => join(dir, "reserve");

async function freeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}

/** Releases the space if a start would lack it. */
export async function releaseReserve(dir: string, log: Logger): Promise<void> {
  if ((await freeBytes(dir)) >= startBytes) return;
  const found = await stat(reservePath(dir)).catch(() => null);
  await rm(reservePath(dir), { force: true });
  log.warn("disk full: the service starts, and takes nothing until there is space", {
    path: reservePath(dir),
    releasedBytes: found?.size ?? 0,
  });
}

/** Reserves the space as long as that leaves ingest what it needs. */
export async function keepReserve(dir: string, freeBytesMin: number): Promise<void> {
  const path = reservePath(dir);
  if ((await stat(path).catch(() => null)) !== null) return;
  if ((await freeBytes(dir)) < freeBytesMin + 2 * reserveBytes) return;
  // Random, so that no file system compresses it away.
  await writeFile(`${path}.new`, randomBytes(reserveBytes), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
