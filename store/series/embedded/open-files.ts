import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Client } from "@libsql/client/sqlite3";
import { nextTurn } from "../../lib/turns.js";

/**
 * Connections to files in all threads of the store together: each has three descriptors and a page cache, so their
 * number bounds both.
 */
const openFilesMax = 40;
/** Of the writer: a flush needs few, and each caches 8 MiB. */
export const writerFilesMax = 8;

/** Of one reader thread among so many. */
export const readerFilesMax = (threads: number): number =>
  Math.max(1, Math.floor((openFilesMax - writerFilesMax) / Math.max(1, threads)));

/** Open files of one thread; beyond a bound the least recently used is closed. */
interface OpenFiles<One extends { readonly client: Client }> {
  /** The open file of this path, which becomes the most recently used. */
  get(path: string): One | undefined;
  /** The same without a change of the order. */
  peek(path: string): One | undefined;
  /** Resolves once the files that had to be closed for it have let go of their descriptors. */
  add(path: string, one: One): Promise<void>;
  /** Closes those that are open. Resolves once their descriptors, and the space of removed files, are free. */
  close(...paths: readonly string[]): Promise<void>;
  /** Resolves once all descriptors are free. */
  closeAll(): Promise<void>;
}

/** @param onClosed told of each that is closed */
export function createOpenFiles<One extends { readonly client: Client }>(
  max: number,
  onClosed: (path: string) => void = () => undefined,
): OpenFiles<One> {
  // Least recently used first.
  const open = new Map<string, One>();

  async function close(path: string): Promise<void> {
    const one = open.get(path);
    if (one === undefined) return;
    open.delete(path);
    onClosed(path);
    await closeFile(one.client);
  }

  async function closeThese(paths: readonly string[]): Promise<void> {
    for (const path of paths) await close(path);
    if (unclosed > 0) await letGo();
  }

  return {
    get: (path) => {
      const one = open.get(path);
      if (one === undefined) return undefined;
      open.delete(path);
      open.set(path, one);
      return one;
    },
    peek: (path) => open.get(path),
    add: async (path, one) => {
      open.set(path, one);
      for (const oldest of open.keys()) if (open.size > max) await close(oldest);
    },
    close: (...paths) => closeThese(paths.filter((path) => open.has(path))),
    closeAll: () => closeThese([...open.keys()]),
  };
}

/** Closed files of this thread whose descriptors may wait for the next collection. */
const unclosedMax = 8;
/** Closed files whose descriptors may not be free yet. */
let unclosed = 0;

/**
 * Closes a file, even one that could not be fully opened. Of many closed files only a few keep their descriptors for
 * a while.
 */
export async function closeFile(client: Pick<Client, "close">): Promise<void> {
  client.close();
  unclosed++;
  if (unclosed >= unclosedMax) await letGo();
}

/**
 * Closes the only connection to a file, whose descriptors must be free before it is renamed or opened by another thread.
 */
export async function closeAtOnce(client: Pick<Client, "close">, path: string): Promise<void> {
  client.close();
  await letGo();
  // A connection that ends removes its log. If it is there, a collection in the midst of a statement has made that old.
  if (existsSync(`${path}-wal`)) await letGo("full");
}

let collect: ((how?: { readonly type: "minor" }) => void) | undefined;

/**
 * libSQL closes a file once its last statement has been collected, which may be never in a thread that makes little
 * garbage. Most statements are young: a minor collection takes them, and the turn after it closes the files.
 */
async function letGo(collection: "minor" | "full" = "minor"): Promise<void> {
  unclosed = 0;
  setFlagsFromString("--expose-gc");
  collect ??= runInNewContext("gc") as typeof collect;
  // Node 20 takes every other type for a minor one.
  if (collection === "full") collect?.();
  else collect?.({ type: "minor" });
  await nextTurn();
}
