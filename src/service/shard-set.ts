/** The shards of this process, each with its pipeline: those that it has for good, and those that come and go. */
import { type OpenShards, openShards, type ShardHolders } from "../../ingest/directory/by-shard.js";
import { settleIssued } from "../commands/issued.js";
import type { Config } from "../config/config.js";
import type { Status } from "../observability/status.js";
import { createShardPublisher, type LivePublisher, type TakenOver } from "./live-publisher.js";
import type { Shard } from "./shard.js";
import { refuseFullDisk } from "./shard-files.js";
import { type ConsumersStart, createShardPipeline, type ShardPipeline } from "./shard-pipeline.js";
import type { Storage } from "./storage.js";

export interface ShardSet {
  readonly pipelines: Omit<OpenShards<ShardPipeline>, "add" | "remove">;
  /** Starts what follows the journal of a shard that is open, and lets its devices in. */
  begin(shard: Shard): Promise<void>;
  /**
   * Opens a shard that has come to this process. If it rejects, nothing of it is left open; it does so soon where the
   * signal is aborted while the shard's log is still to be taken, or its events to be indexed.
   */
  open(shard: number, signal: AbortSignal): Promise<void>;
  /**
   * Closes a shard that goes elsewhere, or has gone: the connections of its devices end, and what can still be kept is.
   * Nothing happens if it is not here. Even if it rejects, nothing of it is used any more.
   */
  close(shard: number, why: "given" | "lost"): Promise<void>;
}

export interface ShardSetDeps {
  readonly config: Config;
  readonly storage: Storage;
  readonly status: Pick<Status, "follow">;
  readonly telling: LivePublisher;
  readonly consuming: ConsumersStart;
  /** Whether what the consumers of a shard have not taken yet fills its bound on disk. */
  readonly isBacklogFull: (shard: number) => boolean;
  readonly holders: ShardHolders;
}

export function createShardSet(deps: ShardSetDeps): ShardSet {
  const { config, storage, status, telling, consuming, isBacklogFull, holders } = deps;
  const { metadata, dbOf, series, receipts } = storage;
  const { now } = consuming.clock;
  const pipelines = openShards<ShardPipeline>({
    numbers: config.shards,
    holders,
    directory: metadata.directory,
  });
  const unfollow = new Map<number, () => void>();
  /** Under way: a shard that comes back meanwhile waits. */
  const closing = new Map<number, Promise<void>>();

  async function begin(shard: Shard, takenOver: TakenOver): Promise<void> {
    const { number, saved } = shard;
    const publisher = createShardPublisher(telling, takenOver);
    const db = dbOf(number);
    const pipeline = createShardPipeline({
      shard,
      storage,
      db,
      telling: publisher,
      now,
      backlogFull: () => isBacklogFull(number),
    });
    try {
      if (!config.holdSeries) await pipeline.start(consuming);
      await settleIssued({ db, now, node: number, held: saved.held, receipts });
    } catch (error) {
      await pipeline.close();
      throw error;
    }
    unfollow.set(number, status.follow(pipeline));
    pipelines.add(number, pipeline);
  }

  async function close(number: number, why: "given" | "lost"): Promise<void> {
    const pipeline = pipelines.all.find(({ shard }) => shard.number === number);
    if (pipeline === undefined) return;
    const { shard, presence } = pipeline;
    // From here on its devices are sent elsewhere.
    pipelines.remove(number);
    unfollow.get(number)?.();
    unfollow.delete(number);
    if (why === "lost") pipeline.endTelling();
    shard.wills.close();
    await shard.connections.endAll("moved");
    // As they end, connections settle the messages that they held. A journal that takes nothing is not waited for.
    await shard.committed();
    if (shard.journal.stopped === null) await Promise.all([presence.settle(), pipeline.settle()]);
    try {
      await pipeline.close();
    } finally {
      await release(number);
      await shard.close();
    }
  }

  /** Another process may go on with the shard: what is known of its points is read anew should it come back. */
  const release = (number: number): Promise<void> => series.letGo(number).catch(() => undefined);

  return {
    pipelines,
    begin: (shard) => begin(shard, { lastID: 0, isBroken: false }),
    open: async (number, signal) => {
      await closing.get(number)?.catch(() => undefined);
      await refuseFullDisk(config);
      const shard = await storage
        .openShard(number, { db: dbOf(number), signal })
        .catch(async (error: unknown) => {
          await release(number);
          throw error;
        });
      try {
        const { journal, earlier } = shard;
        // Not given in order: there were connections, whose end has just been recorded.
        const isBroken = journal.appendedID > earlier.lastID;
        await begin(shard, { lastID: journal.appendedID, isBroken });
      } catch (error) {
        await release(number);
        await shard.close();
        throw error;
      }
    },
    close: (number, why) => {
      const closed = closing.get(number) ?? close(number, why).finally(() => closing.delete(number));
      closing.set(number, closed);
      return closed;
    },
  };
}
