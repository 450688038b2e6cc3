/** The writer's thread, seen from the thread that asks it: how it starts, reports and ends. */

import { Worker } from "node:worker_threads";
import type { Damage } from "../../files/damage.js";
import { StoreError } from "../../lib/errors.js";
import { threadLimits } from "../../lib/thread-limits.js";
import { createCaller, type ThreadCaller } from "./calls.js";
import type { CatalogPart } from "./catalog-schema.js";
import { toSeriesError } from "./failures.js";
import type { Gap } from "./gaps.js";
import type { WriterCalls, WriterEvent, WriterOptions } from "./protocol.js";

interface WriterThread {
  readonly caller: ThreadCaller<WriterCalls>;
  stop(): Promise<unknown>;
}

interface WriterEvents {
  readonly onParts: (parts: readonly CatalogPart[]) => void;
  readonly onDamage: (damage: Damage) => void;
  readonly onGap: (gap: Gap) => void;
  readonly onFailure: (error: StoreError) => void;
}

/** The thread could not read the catalog, and has left word that it must be made again. */
class CatalogLost extends StoreError {}

/** Resolves once the thread has opened the store. @throws StoreError CORRUPT, UNAVAILABLE when it could not */
export async function startWriter(options: WriterOptions, listeners: WriterEvents): Promise<WriterThread> {
  try {
    return await startThread(options, listeners);
  } catch (error) {
    // A statement met damage that the check before it had not found: the next thread makes the catalog again.
    if (!(error instanceof CatalogLost)) throw error;
    return startThread(options, listeners);
  }
}

/** For a lost catalog it rejects only once the thread has ended: another is to open the same files. */
async function startThread(options: WriterOptions, listeners: WriterEvents): Promise<WriterThread> {
  const worker = new Worker(new URL("./writer.worker.js", import.meta.url), {
    workerData: options,
    resourceLimits: threadLimits,
  });
  return new Promise((resolve, reject) => {
    let stopped = false;
    let ready = false;
    let ended: CatalogLost | null = null;
    const caller = createCaller<WriterCalls>(worker, (message) => {
      const event = message as WriterEvent;
      if (event.event === "parts") return listeners.onParts(event.parts);
      if (event.event === "damage") return listeners.onDamage(event.damage);
      if (event.event === "gap") return listeners.onGap(event.gap);
      if (event.event === "ended") {
        // The thread ends itself.
        ended = new CatalogLost("CORRUPT", `cannot read the series catalog: ${event.message}`);
        return;
      }
      if (event.event === "failed") {
        fail(new StoreError(event.code, event.message));
        return void worker.terminate();
      }
      ready = true;
      resolve({ caller, stop });
    });
    const fail = (cause: unknown) => {
      if (stopped) return;
      stopped = true;
      const error = toSeriesError(cause, ready ? "go on: the series writer stopped" : "open series store");
      caller.fail(error);
      if (ready) listeners.onFailure(error);
      else reject(error);
    };
    function stop(): Promise<unknown> {
      stopped = true;
      caller.fail(new StoreError("UNAVAILABLE", "cannot use series store: it is closed"));
      return worker.terminate();
    }
    worker.on("error", fail);
    worker.on("exit", (code) => fail(ended ?? new Error(`exit code ${code}`)));
  });
}
