/** The index file and the thread that writes it. A damaged file is put aside and made again from the segments. */

import type { Client } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import type { Damage } from "../files/damage.js";
import { isDamage } from "../files/database-faults.js";
import { openOrRemake, putAside } from "../files/database-file.js";
import { asError, StoreError } from "../lib/errors.js";
import { singleFlight } from "../lib/single-flight.js";
import { indexedSegments, openEventIndexFile } from "./event-index.js";
import { createIndexThread, type Indexer, type IndexThread } from "./event-indexer.js";
import type { IndexRequest } from "./index-calls.js";

export interface RepairedIndex {
  /**
   * Asks the file. If it turns out damaged it is made again, and the caller must ask again later.
   * @throws StoreError UNAVAILABLE while it is made again
   */
  ask<T>(question: (client: Client) => Promise<T>): Promise<T>;
  /** A request to the thread that writes the file. */
  request(request: IndexRequest): Promise<void>;
  /** First ids of the segments that the file covers, and their bytes. */
  readonly indexed: Map<number, number | null>;
  /** The thread has failed a request: a damaged file is made again, any other error is reported. */
  onFailure(error: unknown): void;
  /** Puts the damaged file aside and makes it again. */
  remake(fault: string): Promise<void>;
  close(): Promise<void>;
}

export interface EventIndexOptions {
  /** The index file. */
  readonly path: string;
  readonly onTrouble: (error: Error) => void;
  readonly onDamage: (damage: Damage) => void;
  /** Shared with the logs of other journals; absent: one of its own. */
  readonly thread?: IndexThread;
}

interface OpenIndex {
  readonly client: Client;
  readonly indexer: Indexer;
  readonly indexed: Map<number, number | null>;
}

const beingMade = "cannot list events: their index is being made again";

/** @param fill indexes the segments in a file that was made again */
export async function openRepairedIndex(
  { path, onTrouble, onDamage, thread = createIndexThread() }: EventIndexOptions,
  fill: () => Promise<void>,
): Promise<RepairedIndex> {
  const remaking = singleFlight(replace);
  let closed = false;
  let index = await openOrRemake(path, open, tell);

  async function open(): Promise<OpenIndex> {
    const client = await openEventIndexFile(path);
    try {
      const indexed = await indexedSegments(client);
      return { client, indexer: thread.indexer(path, onDamage), indexed };
    } catch (error) {
      await closeAtOnce(client, path);
      throw error;
    }
  }

  function tell(fault: string, aside: string): void {
    const what = `${fault}; put aside as ${aside} and made again from the segments`;
    onDamage({ part: "events", file: path, what, lostBytes: 0 });
  }

  async function replace(fault: string): Promise<void> {
    await index.indexer.close();
    await closeAtOnce(index.client, path);
    tell(fault, await putAside(path));
    index = await open();
    await fill();
  }

  return {
    ask: async (question) => {
      if (remaking.running !== null) throw new StoreError("UNAVAILABLE", beingMade);
      try {
        return await question(index.client);
      } catch (error) {
        if (remaking.running === null && !isDamage(error)) throw error;
        if (!closed)
          remaking.run(asError(error).message).catch((failure: unknown) => onTrouble(asError(failure)));
        throw new StoreError("UNAVAILABLE", beingMade, {}, { cause: error });
      }
    },
    request: (request) => index.indexer.ask(request),
    get indexed() {
      return index.indexed;
    },
    onFailure: (error) => {
      if (closed || remaking.running !== null) return;
      const failing = isDamage(error) ? remaking.run(asError(error).message) : Promise.reject(error);
      failing.catch((failure: unknown) => onTrouble(asError(failure)));
    },
    remake: remaking.run,
    close: async () => {
      closed = true;
      await remaking.running?.catch(() => undefined);
      await index.indexer.close();
      await closeAtOnce(index.client, path);
    },
  };
}
