import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { isDamage } from "../database-faults.js";
import { headFault } from "../database-file.js";
import { asError, StoreError } from "../errors.js";
import type { Catalog } from "./catalog.js";
import { MONTH_FORMAT, type Part } from "./catalog-schema.js";
import { openMonthFile } from "./files.js";
import { monthOf } from "./months.js";

export interface MonthPart extends Part {
  path: string;
  /** Flushes into it since it was last compacted. */
  loose: number;
  /** When this process last wrote points into it (monotonic milliseconds); -Infinity when it has not. */
  writtenAt: number;
}

/** The month files as their only writer sees them. */
export interface Parts {
  list(): readonly MonthPart[];
  /** The part of a time, made if missing; readers hear of it before its first point leaves the memtable. */
  ensure(time: number): Promise<MonthPart>;
  /** Works on a part's file. @throws DamagedPart when that is damaged or has gone */
  use<T>(part: MonthPart, work: (client: Client) => Promise<T>): Promise<T>;
  /** The connection that is open already, to a file that may no longer be there; undefined when none is. */
  connected(part: MonthPart): Client | undefined;
  /** The part lies in another file from now on; the old one is let go of. */
  replace(part: MonthPart, path: string): Promise<void>;
  /** Why the file of a part cannot be what was written, as far as a look at its folder tells; null when all is well. */
  missing(part: MonthPart): string | null;
  /** Takes every part that ends at or before `time` off the list. */
  retire(time: number): Part[];
  unlink(part: Part): Promise<void>;
  close(): void;
}

/** The file of a month is damaged: what can be read of it must move before anything is written. */
export class DamagedPart extends StoreError {
  constructor(
    readonly part: MonthPart,
    readonly fault: string,
  ) {
    super("CORRUPT", `cannot use ${part.path}: ${fault}`);
  }
}

interface Connection {
  readonly client: Client;
  /** Which file it was when it was opened. */
  readonly file: string;
}

const CLIENTS_MAX = 8;

export async function openParts(deps: {
  dir: string;
  catalog: Catalog;
  onChange: (parts: readonly Part[]) => void;
}): Promise<Parts> {
  const { dir, catalog, onChange } = deps;
  // least recently used first
  const connections = new Map<string, Connection>();
  let parts: MonthPart[] = [];

  async function client(part: Part, isNew = false): Promise<Client> {
    const known = connections.get(part.path);
    const path = join(dir, part.path);
    const client = known?.client ?? (await openMonthFile(path, isNew));
    const connection = known ?? { client, file: identity(path) ?? "" };
    connections.delete(part.path);
    connections.set(part.path, connection);
    for (const one of connections.keys()) if (connections.size > CLIENTS_MAX) closeClient(one);
    return client;
  }

  function closeClient(path: string): void {
    connections.get(path)?.client.close();
    connections.delete(path);
  }

  async function unlink(part: Part): Promise<void> {
    closeClient(part.path);
    for (const suffix of ["", "-wal", "-shm"]) await rm(join(dir, part.path + suffix), { force: true });
    await catalog.removePart(part.start);
  }

  async function ensure(time: number): Promise<MonthPart> {
    const known = parts.find((part) => time >= part.start && time < part.stop);
    if (known !== undefined) return known;
    const { name, start, stop } = monthOf(time);
    const part = { start, stop, path: `points-${name}.db`, loose: 0, writtenAt: Number.NEGATIVE_INFINITY };
    // its tables first: a process killed in between must not leave a listed file that readers cannot use
    await client(part, true);
    await catalog.addPart(part);
    parts = [...parts, part].sort((a, b) => a.start - b.start);
    onChange(parts);
    return part;
  }

  function missing({ path }: MonthPart): string | null {
    const now = identity(join(dir, path));
    if (now === null) return "it is missing";
    const opened = connections.get(path);
    return opened === undefined || opened.file === now ? null : "it was replaced while it was in use";
  }

  async function use<T>(part: MonthPart, work: (client: Client) => Promise<T>): Promise<T> {
    const gone = missing(part);
    if (gone !== null) throw new DamagedPart(part, gone);
    try {
      return await work(await client(part));
    } catch (error) {
      if (error instanceof DamagedPart || !isDamage(error)) throw error;
      throw new DamagedPart(part, asError(error).message);
    }
  }

  for (const { dropped, format, start, stop, path, loose } of await catalog.parts()) {
    const part = { start, stop, path, loose, writtenAt: Number.NEGATIVE_INFINITY };
    if (dropped) {
      await unlink(part);
      continue;
    }
    parts.push(part);
    // What is wrong with it is told, and mended, once the store is open.
    if (missing(part) !== null || (await headFault(join(dir, path))) !== null) continue;
    try {
      // a killed process leaves a log to recover: done here, so that no reader meets the lock that takes
      if (format < MONTH_FORMAT || needsRecovery(join(dir, path))) await client(part);
      if (format < MONTH_FORMAT) await catalog.replacePart(part);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  onChange(parts);

  return {
    list: () => parts,
    ensure,
    use,
    connected: (part) => connections.get(part.path)?.client,
    replace: async (part, path) => {
      closeClient(part.path);
      await catalog.replacePart({ ...part, path });
      part.path = path;
      onChange(parts);
    },
    missing,
    retire: (time) => {
      const retired = parts.filter((part) => part.stop <= time);
      parts = parts.filter((part) => part.stop > time);
      onChange(parts);
      return retired;
    },
    unlink,
    close: () => {
      for (const path of [...connections.keys()]) closeClient(path);
    },
  };
}

function needsRecovery(path: string): boolean {
  return existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
}

/** Which file a path names; null where there is none. */
function identity(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
