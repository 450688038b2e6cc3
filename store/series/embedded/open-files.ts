import type { Client } from "@libsql/client/sqlite3";
import { closeFile, freeDescriptors } from "../../files/closing.js";

/**
 * Connections to files in all threads of the store together: each has three descriptors and a page cache, so their
 * number bounds both.
 */
const openFilesMax = 40;
/** The writer's limit: a flush needs few, and each caches 8 MiB. */
export const writerFilesMax = 8;

/** The limit of one reader thread, by their number. */
export const readerFilesMax = (threads: number): number =>
  Math.max(1, Math.floor((openFilesMax - writerFilesMax) / Math.max(1, threads)));

/** Open files of one thread; beyond a bound the least recently used is closed. */
interface OpenFiles<One extends { readonly client: Client }> {
  /** The open file of this path, which becomes the most recently used. */
  get(path: string): One | undefined;
  /** The same without a change of the order. */
  peek(path: string): One | undefined;
  /** Resolves once the files that had to be closed for it have released their descriptors. */
  add(path: string, one: One): Promise<void>;
  /** Closes those that are open. Resolves once their descriptors, and the space of removed files, are free. */
  close(...paths: readonly string[]): Promise<void>;
  /** Resolves once all descriptors are free. */
  closeAll(): Promise<void>;
}

/** @param onClosed called with the path of each file that is closed */
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
    await freeDescriptors();
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
