/** The files of parts as the writer uses them: opened, recognised, named and deleted. */

import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { asError } from "../../lib/errors.js";
import { toMonth } from "./months.js";
import { createOpenFiles, writerFilesMax } from "./open-files.js";
import { isBlank, openPartFile } from "./part-file.js";
import { DamagedPart, type StoredPart } from "./stored-part.js";

/** Paths are those in the catalog, relative to the folder. */
export interface WriterFiles {
  /** The connection to a file, opened if necessary. @param isNew its tables are made */
  open(path: string, isNew?: boolean): Promise<Client>;
  /** The connection that is already open, to a file that may be gone. */
  opened(path: string): Client | undefined;
  close(path: string): Promise<void>;
  closeAll(): Promise<void>;
  delete(path: string): Promise<void>;
  /** Why a file cannot be what was written, as far as its folder shows; null when all is well. */
  missing(path: string): string | null;
  /** Which file a path names, and in which state: it changes with every write that reaches the file itself. */
  version(path: string): string;
  /** Null where the file is missing. */
  bytes(path: string): number | null;
  /** Whether it has a log that must be recovered, as after a kill. */
  needsRecovery(path: string): boolean;
  /**
   * A name for a file of the month of `time`: parts that share a month have different ones. An empty file that a
   * killed cut has left is taken; any other file stays as it is.
   */
  freeName(time: number, isTaken: (path: string) => boolean): Promise<string>;
  /** The name of the next generation: of both, found without a catalog, the new file counts. */
  nextName(old: string, isTaken: (path: string) => boolean): string;
}

interface Connection {
  readonly client: Client;
  /** Which file it was when it was opened. */
  readonly file: string;
}

export function createWriterFiles(dir: string): WriterFiles {
  const connections = createOpenFiles<Connection>(writerFilesMax);
  const at = (path: string): string => join(dir, path);
  const isThere = (path: string): boolean => ["", "-wal"].some((suffix) => existsSync(at(path + suffix)));

  return {
    open: async (path, isNew = false) => {
      const known = connections.get(path);
      if (known !== undefined) return known.client;
      const client = await openPartFile(at(path), isNew);
      await connections.add(path, { client, file: identity(at(path)) ?? "" });
      return client;
    },
    opened: (path) => connections.peek(path)?.client,
    close: (path) => connections.close(path),
    closeAll: connections.closeAll,
    delete: async (path) => {
      await connections.close(path);
      for (const suffix of ["", "-wal", "-shm"]) await rm(at(path + suffix), { force: true });
    },
    missing: (path) => {
      const now = identity(at(path));
      if (now === null) return "it is missing";
      const opened = connections.peek(path);
      return opened === undefined || opened.file === now ? null : "it was replaced while it was in use";
    },
    version: (path) => {
      const found = statSync(at(path), { bigint: true, throwIfNoEntry: false });
      return found === undefined ? "" : `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`;
    },
    bytes: (path) => statSync(at(path), { throwIfNoEntry: false })?.size ?? null,
    needsRecovery: (path) => existsSync(`${at(path)}-wal`) && statSync(`${at(path)}-wal`).size > 0,
    freeName: async (time, isTaken) => {
      const { name } = toMonth(time);
      for (let n = 1; ; n++) {
        const path = n === 1 ? `points-${name}.db` : `points-${name}.${n}.db`;
        if (!isTaken(path) && (!isThere(path) || (await isBlank(at(path))))) return path;
      }
    },
    nextName: (old, isTaken) => {
      const [, name, generation = "1"] = /^(points-\d+-\d+)(?:\.(\d+))?\.db$/.exec(old) ?? [];
      for (let n = Number(generation) + 1; ; n++) {
        const path = `${name}.${n}.db`;
        if (!isTaken(path) && !isThere(path)) return path;
      }
    },
  };
}

/** Works on a part's file. @throws DamagedPart when the file is damaged or gone */
export async function useFile<T>(
  files: Pick<WriterFiles, "open" | "missing">,
  part: StoredPart,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const gone = files.missing(part.path);
  if (gone !== null) throw new DamagedPart(part, gone);
  try {
    return await work(await files.open(part.path));
  } catch (error) {
    if (error instanceof DamagedPart || !isDamage(error)) throw error;
    throw new DamagedPart(part, asError(error).message);
  }
}

/** Which file a path names; null where there is none. */
function identity(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
