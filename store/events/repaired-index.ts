/** The index file and the thread that writes it. A damaged file is quarantined and made again from the segments. */

import type { Client } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import type { Damage } from "../files/damage.js";
import { isDamage } from "../files/database-faults.js";
import { openOrRemake, quarantineFile } from "../files/database-file.js";
import { asError, StoreError } from "../lib/errors.js";
import { createPacer } from "../lib/scheduling.js";
import { singleFlight } from "../lib/single-flight.js";
import {
  countsBySegment,
  indexedSegments,
  openEventIndexFile,
  type PostingScope,
  type SegmentCount,
} from "./event-index.js";
import { createIndexThread, type Indexer, type IndexThread } from "./event-indexer.js";
import type { Log } from "./event-postings.js";
import type { IndexRequest } from "./index-calls.js";
import { createSegmentCounts } from "./segment-counts.js";

export interface RepairedIndex {
  /**
   * Asks the file. If it turns out damaged it is made again, and the caller must ask again later.
   * @throws StoreError UNAVAILABLE while it is made again
   */
  ask<T>(question: (client: Client) => Promise<T>): Promise<T>;
  /** How many records of some owners each segment has, newest first. @throws as `ask` */
  counts(
    scope: PostingScope,
    owners: readonly number[],
    logs: readonly Log[],
  ): Promise<readonly SegmentCount[]>;
  /** A request to the thread that writes the file. */
  request(request: IndexRequest): Promise<void>;
  /** First ids of the segments that the file covers, and their bytes; null where those were not kept. */
  readonly indexed: ReadonlyMap<number, number | null>;
  /** The thread has failed a request: a damaged file is made again, any other error is reported. */
  onFailure(error: unknown): void;
  /** Quarantines the damaged file and makes it again. */
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

/**
 * One for all index files: each query holds the thread for a part of a millisecond, and a list over hundreds of
 * shards asks as many files.
 */
const inTurn = createPacer();

const beingMade = "cannot list events: their index is being made again";

/** @param fill indexes the segments in a file that was made again */
export async function openRepairedIndex(
  { path, onTrouble, onDamage, thread = createIndexThread() }: EventIndexOptions,
  fill: () => Promise<void>,
): Promise<RepairedIndex> {
  const remaking = singleFlight(replace);
  const counts = createSegmentCounts();
  let closed = false;
  let index = await openOrRemake(path, open, reportDamage);

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

  function reportDamage(fault: string, aside: string): void {
    const what = `${fault}; put aside as ${aside} and made again from the segments`;
    onDamage({ part: "events", file: path, what, lostBytes: 0 });
  }

  async function replace(fault: string): Promise<void> {
    counts.changed();
    await index.indexer.close();
    await closeAtOnce(index.client, path);
    reportDamage(fault, await quarantineFile(path));
    index = await open();
    await fill();
  }

  const ask = <T>(question: (client: Client) => Promise<T>): Promise<T> => inTurn(() => askNow(question));

  async function askNow<T>(question: (client: Client) => Promise<T>): Promise<T> {
    if (remaking.running !== null) throw new StoreError("UNAVAILABLE", beingMade);
    try {
      return await question(index.client);
    } catch (error) {
      if (remaking.running === null && !isDamage(error)) throw error;
      if (!closed)
        remaking.run(asError(error).message).catch((failure: unknown) => onTrouble(asError(failure)));
      throw new StoreError("UNAVAILABLE", beingMade, {}, { cause: error });
    }
  }

  async function request(indexRequest: IndexRequest): Promise<void> {
    const { indexer, indexed } = index;
    if (indexRequest.kind === "forget") indexed.delete(indexRequest.firstID);
    await indexer.ask(indexRequest);
    if (indexRequest.kind !== "index") return;
    indexed.set(indexRequest.segment.firstID, indexRequest.segment.bytes);
    counts.changed();
  }

  return {
    ask,
    counts: (scope, owners, logs) =>
      counts.get(scope, owners, logs, () => ask((client) => countsBySegment(client, scope, owners, logs))),
    request,
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
