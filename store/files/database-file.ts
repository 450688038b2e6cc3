import { existsSync } from "node:fs";
import { open, rename, stat } from "node:fs/promises";
import { systemClock } from "../lib/clock.js";
import { asError } from "../lib/errors.js";
import { connect } from "./connection.js";
import { isDamage, toFault } from "./database-faults.js";

const magic = "SQLite format 3\0";
const headBytes = 100;
const pageSizeAt = 16;
const pagesAt = 28;
const changesAt = 24;
const pagesValidForAt = 92;

/**
 * Databases up to this size are checked whole as they are opened; larger ones by their head, and the rest in the
 * background. In a cluster they are opened while others are served: 4 MiB take 3 to 5 ms.
 */
const wholeCheckBytesMax = 4 * 2 ** 20;

/**
 * Finds a fault of a database file; null where none was found in its head nor, in a file of at most
 * `wholeCheckBytesMax` bytes, in its pages. A file that is missing or empty is a database yet to be made.
 */
export async function findFault(path: string): Promise<string | null> {
  const size = await stat(path).then(
    (found) => found.size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return 0;
      throw error;
    },
  );
  if (size === 0) return null;
  return (await headFault(path)) ?? (size <= wholeCheckBytesMax ? quickFault(path) : null);
}

/** Finds a fault in the first bytes of a database that exists; null: none. */
export async function headFault(path: string): Promise<string | null> {
  const file = await open(path, "r");
  try {
    const head = Buffer.alloc(headBytes);
    const { bytesRead } = await file.read(head, 0, headBytes, 0);
    if (bytesRead === 0) return "it is empty";
    if (bytesRead < headBytes || head.toString("latin1", 0, magic.length) !== magic) {
      return "it is not a database";
    }
    const stored = head.readUInt16BE(pageSizeAt);
    const pageSize = stored === 1 ? 65_536 : stored;
    if (pageSize < 512 || (pageSize & (pageSize - 1)) !== 0) return "its page size is impossible";
    const isCounted = head.readUInt32BE(changesAt) === head.readUInt32BE(pagesValidForAt);
    const bytes = head.readUInt32BE(pagesAt) * pageSize;
    // What the write-ahead log holds may not be in the file yet; the log is removed once all of it is.
    const log = await stat(`${path}-wal`).catch(() => null);
    if (!isCounted || (log !== null && log.size > 0)) return null;
    const { size } = await file.stat();
    return size < bytes ? `it is cut off: ${size} of ${bytes} bytes are there` : null;
  } finally {
    await file.close();
  }
}

/** SQLite's own check of every page, but not of the contents of indexes; it occupies the thread. */
async function quickFault(path: string): Promise<string | null> {
  const client = connect(path);
  try {
    return toFault((await client.execute("pragma quick_check(1)")).rows[0]?.[0]);
  } catch (error) {
    if (isDamage(error)) return asError(error).message;
    // Locked, or out of space: that says nothing about the contents.
    return null;
  } finally {
    client.close();
  }
}

/** Renames a database and its log, never over another file. Returns the new path. */
export async function quarantineFile(path: string): Promise<string> {
  const stamp = new Date(systemClock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  let aside = `${path}.damaged-${stamp}`;
  for (let n = 2; existsSync(aside); n++) aside = `${path}.damaged-${stamp}-${n}`;
  for (const suffix of ["", "-wal", "-shm"]) {
    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix);
  }
  return aside;
}

/**
 * Opens a database that can be made again from elsewhere: a damaged one is quarantined first, and `onDamage` receives
 * what was wrong and where the file now lies.
 */
export async function openOrRemake<T>(
  path: string,
  open: () => Promise<T>,
  onDamage: (fault: string, aside: string) => void,
): Promise<T> {
  let fault = await findFault(path);
  if (fault === null) {
    try {
      return await open();
    } catch (error) {
      if (!isDamage(error)) throw error;
      fault = asError(error).message;
    }
  }
  const aside = await quarantineFile(path);
  onDamage(fault, aside);
  return open();
}
