/** The file that the journal writes to: what has been written is on disk. */
import { constants, type FileHandle, open } from "node:fs/promises";

export interface DurableFile {
  /** Resolves once all of the bytes are durable. After a failure some of them may be. */
  write(views: readonly Buffer[], position: number): Promise<void>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * On Linux a write to a file that is opened so is durable when it returns (open(2), O_DSYNC): one call in place of two,
 * and one way to a thread and back, which is a fifth of what a single message waits for. macOS keeps such a promise for
 * fdatasync alone, where Node makes it F_FULLFSYNC.
 */
const writesSync = process.platform === "linux";
const { O_RDWR, O_CREAT, O_EXCL, O_DSYNC } = constants;

/** A new file. @throws where there is one already */
export async function createDurableFile(path: string): Promise<DurableFile> {
  return durable(await openSynced(path, O_RDWR | O_CREAT | O_EXCL));
}

/** A file that is there. What an earlier process has left in memory is brought to the disk. */
export async function openDurableFile(path: string): Promise<DurableFile> {
  const file = await openSynced(path, O_RDWR);
  try {
    await file.datasync();
  } catch (error) {
    await file.close();
    throw error;
  }
  return durable(file);
}

function openSynced(path: string, flags: number): Promise<FileHandle> {
  return open(path, writesSync ? flags | O_DSYNC : flags, 0o600);
}

function durable(file: FileHandle): DurableFile {
  return {
    write: async (views, position) => {
      await writeAll(file, views, position);
      if (!writesSync) await file.datasync();
    },
    truncate: (bytes) => file.truncate(bytes),
    close: () => file.close(),
  };
}

/** Writes all of the bytes, however many calls that takes. */
export async function writeAll(file: FileHandle, views: readonly Buffer[], position: number): Promise<void> {
  let left = views;
  let at = position;
  while (left.length > 0) {
    const { bytesWritten } = await file.writev(left as Buffer[], at);
    at += bytesWritten;
    left = behind(left, bytesWritten);
  }
}

/** The rest after a short write. */
function behind(views: readonly Buffer[], written: number): Buffer[] {
  let skip = written;
  const left: Buffer[] = [];
  for (const view of views) {
    if (skip >= view.length) {
      skip -= view.length;
    } else {
      left.push(skip === 0 ? view : view.subarray(skip));
      skip = 0;
    }
  }
  return left;
}
