import { createFileThread } from "../file-threads/file-thread.js";
import type { Damage } from "../files/damage.js";
import { StoreError } from "../lib/errors.js";
import { createLock } from "../lib/scheduling.js";
import type { IndexCalls, IndexEvent, IndexRequest } from "./index-calls.js";

/** The requests of one index file. */
export interface Indexer {
  /** Takes turns with the requests of other files. @throws StoreError CORRUPT if the index file is damaged */
  ask(request: IndexRequest): Promise<void>;
  /** Resolves once the file is closed in the thread, after what was asked before. */
  close(): Promise<void>;
}

/** The thread that indexes closed segments, for any number of index files. */
export interface IndexThread {
  /** @param onDamage receives damage in segments as it is found */
  indexer(path: string, onDamage: (damage: Damage) => void): Indexer;
}

/**
 * Starts with the first request: a quiet service closes no segment for days. It works at one request at a time, which
 * bounds its memory, and a request is one segment at most: a file that is made again from many segments delays each
 * request of another by one of them. Where the thread dies, the request under way fails and the next ones have another.
 */
export function createIndexThread(): IndexThread {
  const tells = new Map<string, (damage: Damage) => void>();
  const thread = createFileThread<IndexCalls>({
    script: new URL("./event-index.worker.js", import.meta.url),
    verb: "index segments",
    onEvent: (message) => {
      const { path, damage } = message as IndexEvent;
      tells.get(path)?.(damage);
    },
  });
  const inTurn = createLock();

  return {
    indexer: (path, onDamage) => {
      tells.set(path, onDamage);
      const inOwnTurn = createLock();
      let closed = false;
      const run = async (request: IndexRequest): Promise<void> => {
        await thread.enter(path).call("request", { path, request });
      };
      return {
        ask: async (request) => {
          if (closed) throw new StoreError("UNAVAILABLE", "cannot index segments: their index is closed");
          // Only one of its requests waits among those of other files.
          await inOwnTurn(() => inTurn(() => run(request)));
        },
        close: async () => {
          closed = true;
          await inOwnTurn(() => thread.leave(path));
          tells.delete(path);
        },
      };
    },
  };
}
