import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { nextTurn } from "../lib/scheduling.js";

/** What holds a file open: a client of libSQL, or a database of its engine. */
interface Closable {
  close(): void;
}

/** Closed files of this thread whose descriptors may wait for the next collection. */
const unclosedMax = 8;
/** Closed files whose descriptors may not be free yet. */
let unclosed = 0;

/**
 * Closes a file, even one that could not be fully opened. Of many closed files only a few keep their descriptors for
 * a while.
 */
export async function closeFile(client: Closable): Promise<void> {
  client.close();
  unclosed++;
  if (unclosed >= unclosedMax) await collectGarbage();
}

/** Frees the descriptors of all closed files. */
export async function freeDescriptors(): Promise<void> {
  if (unclosed > 0) await collectGarbage();
}

/**
 * Closes the only connection to a file, whose descriptors must be free before it is renamed or opened by another thread.
 */
export async function closeAtOnce(client: Closable, path: string): Promise<void> {
  client.close();
  await collectGarbage();
  // A connection that ends removes its log. If it is there, a collection in the midst of a statement has made that old.
  if (existsSync(`${path}-wal`)) await collectGarbage("full");
}

let collect: ((how?: { readonly type: "minor" }) => void) | undefined;

/**
 * libSQL closes a file once its last statement has been collected, which may be never in a thread that makes little
 * garbage. Most statements are young: a minor collection takes them, and the turn after it closes the files.
 */
async function collectGarbage(collection: "minor" | "full" = "minor"): Promise<void> {
  unclosed = 0;
  setFlagsFromString("--expose-gc");
  collect ??= runInNewContext("gc") as typeof collect;
  // Node 20 takes every other type for a minor one.
  if (collection === "full") collect?.();
  else collect?.({ type: "minor" });
  await nextTurn();
}
