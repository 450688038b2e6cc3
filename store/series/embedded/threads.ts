/** The threads of a store, one that writes and some that read, and what each must know of the others. */

import type { Transferable } from "node:worker_threads";
import type { Damage } from "../../files/damage.js";
import type { StoreError } from "../../lib/errors.js";
import type { CatalogPart } from "./catalog-schema.js";
import type { Gap } from "./gaps.js";
import type { Handles } from "./handles.js";
import type { WriterCalls, WriterOptions } from "./protocol.js";
import { createReaders, type Readers } from "./readers.js";
import { startWriter } from "./writer-thread.js";

export interface Threads {
  /** A call to the writer, which first learns of the series that were numbered since the last call. */
  ask<N extends keyof WriterCalls & string>(
    name: N,
    args: WriterCalls[N]["args"],
    more?: { transfer?: readonly Transferable[] },
  ): Promise<WriterCalls[N]["answer"]>;
  readonly readers: Readers;
  /** The files of points as the writer last named them. */
  parts(): readonly CatalogPart[];
  /** Flushes, then ends every thread. */
  close(): Promise<void>;
}

/** What happens besides the calls; the store's options (open.ts) say what each means. */
interface ThreadListeners {
  readonly onFailure?: (error: StoreError) => void;
  readonly onDamage?: (damage: Damage) => void;
  readonly onGap?: (gap: Gap) => Promise<void>;
}

/** Resolves once the writer has opened the store. @throws StoreError CORRUPT, UNAVAILABLE when it could not */
export async function startThreads(deps: {
  writer: WriterOptions;
  /** How many. */
  readers: number;
  handles: Handles;
  listeners: ThreadListeners;
}): Promise<Threads> {
  const { handles, listeners } = deps;
  let parts: readonly CatalogPart[] = [];
  let closed: Promise<void> | undefined;
  const readers = createReaders({
    dir: deps.writer.dir,
    threads: deps.readers,
    onFault: ({ path, chunk, fault }) => {
      ask("suspect", { path, chunk, fault }).catch(() => undefined);
    },
  });
  const starting = startWriter(deps.writer, {
    onParts: (now) => {
      const gone = parts.filter((part) => !now.some((one) => one.path === part.path));
      parts = now;
      if (gone.length > 0) void readers.forget(gone.map((part) => part.path));
    },
    onDamage: (damage) => listeners.onDamage?.(damage),
    onGap: (gap) => {
      listeners.onGap?.(gap).then(
        () => ask("endGap", gap.id).catch(() => undefined),
        () => undefined,
      );
    },
    onFailure: (error) => listeners.onFailure?.(error),
  });
  const writer = await starting.catch(async (error: unknown) => {
    await readers.close();
    throw error;
  });

  async function ask<N extends keyof WriterCalls & string>(
    name: N,
    args: WriterCalls[N]["args"],
    more?: { transfer?: readonly Transferable[] },
  ): Promise<WriterCalls[N]["answer"]> {
    const { caller } = await starting;
    return caller.call(name, args, { ...more, prelude: handles.fresh() });
  }

  async function closeAll(): Promise<void> {
    await ask("flush", null).catch(() => undefined);
    // The last to close a file moves its log into it. If that is the writer, it knows the final versions of the files.
    await readers.close();
    try {
      await ask("close", null);
    } finally {
      await writer.stop();
    }
  }

  return {
    ask,
    readers,
    parts: () => parts,
    close: () => {
      closed ??= closeAll();
      return closed;
    },
  };
}
