/** A segment's file that is a copy: what stands in it can be had again from the log, so that no write waits for the disk. */
import { type FileHandle, open } from "node:fs/promises";
import { writeAll } from "../durable-file.js";

export interface CopiedFile {
  /** After a failure the same bytes may be written again. */
  write(views: readonly Buffer[], position: number): Promise<void>;
  /** Brings what was written to the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** An empty file, in place of one that may be there. */
export async function createCopiedFile(path: string): Promise<CopiedFile> {
  return copied(await open(path, "w+", 0o600));
}

/** A file that is there, cut to so many bytes. */
export async function reopenCopiedFile(path: string, bytes: number): Promise<CopiedFile> {
  const file = await open(path, "r+", 0o600);
  try {
    await file.truncate(bytes);
  } catch (error) {
    await file.close();
    throw error;
  }
  return copied(file);
}

function copied(file: FileHandle): CopiedFile {
  return {
    write: (views, position) => writeAll(file, views, position),
    sync: () => file.datasync(),
    close: () => file.close(),
  };
}
