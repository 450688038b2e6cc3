import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import type { Catalog, Part } from "./catalog.js";
import { openMonthFile } from "./files.js";
import { monthOf } from "./months.js";

export interface MonthPart extends Part {
  /** Flushes into it since it was last compacted. */
  loose: number;
  /** When this process last wrote points into it (milliseconds); 0 when it has not. */
  writtenAt: number;
}

/** The month files as their only writer sees them. */
export interface Parts {
  list(): readonly MonthPart[];
  /** The part of a time, made if missing; readers hear of it before its first point leaves the memtable. */
  ensure(time: number): Promise<MonthPart>;
  client(part: Part): Promise<Client>;
  /** Takes every part that ends at or before `time` off the list. */
  retire(time: number): Part[];
  unlink(part: Part): Promise<void>;
  close(): void;
}

const CLIENTS_MAX = 8;

export async function openParts(deps: {
  dir: string;
  catalog: Catalog;
  onChange: (parts: readonly Part[]) => void;
}): Promise<Parts> {
  const { dir, catalog, onChange } = deps;
  // least recently used first
  const clients = new Map<string, Client>();
  let parts: MonthPart[] = [];

  async function client(part: Part): Promise<Client> {
    const known = clients.get(part.path);
    const open = known ?? (await openMonthFile(join(dir, part.path)));
    clients.delete(part.path);
    clients.set(part.path, open);
    for (const path of clients.keys()) if (clients.size > CLIENTS_MAX) closeClient(path);
    return open;
  }

  function closeClient(path: string): void {
    clients.get(path)?.close();
    clients.delete(path);
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
    const part = { start, stop, path: `points-${name}.db`, loose: 0, writtenAt: 0 };
    // its tables first: a process killed in between must not leave a listed file that readers cannot use
    await client(part);
    await catalog.addPart(part);
    parts = [...parts, part].sort((a, b) => a.start - b.start);
    onChange(parts);
    return part;
  }

  for (const part of await catalog.parts()) {
    if (part.dropped) await unlink(part);
    else {
      // a killed process leaves a log to recover: done here, so that no reader meets the lock that takes
      if (needsRecovery(join(dir, part.path))) await client(part);
      parts.push({ start: part.start, stop: part.stop, path: part.path, loose: part.loose, writtenAt: 0 });
    }
  }
  onChange(parts);

  return {
    list: () => parts,
    ensure,
    client,
    retire: (time) => {
      const retired = parts.filter((part) => part.stop <= time);
      parts = parts.filter((part) => part.stop > time);
      onChange(parts);
      return retired;
    },
    unlink,
    close: () => {
      for (const path of [...clients.keys()]) closeClient(path);
    },
  };
}

function needsRecovery(path: string): boolean {
  return !existsSync(path) || (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0);
}
