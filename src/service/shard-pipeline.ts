import { setTimeout as delay } from "node:timers/promises";
import { createPresence, type Presence } from "../../ingest/directory/presence.js";
import { type Accept, createAccept } from "../../ingest/uplinks/accept.js";
import type { Journal } from "../../store/journal/journal.js";
import type { Clock } from "../../store/lib/clock.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Point } from "../../store/series/series.js";
import type { Config } from "../config/config.js";
import type { HistoryGate } from "../import-export/points/gate.js";
import type { Status } from "../observability/status.js";
import { type Consumers, startConsumers } from "./consumers.js";
import type { ShardPublisher } from "./live-publisher.js";
import type { Shard } from "./shard.js";
import type { Storage } from "./storage.js";

/** The path of an uplink through one shard: the way into its journal, and the journal's consumers. */
export interface ShardPipeline {
  readonly shard: Shard;
  readonly journal: Journal;
  readonly accept: Accept;
  readonly presence: Presence;
  /** Null until they are started; also if the service writes no points, which is for benches only. */
  readonly consumers: Consumers | null;
  /** The journal id up to which all points are in the series store. */
  readonly settledID: number;
  /** The position of the alerts consumer, and where it continues after a restart. */
  readonly alertsID: number;
  readonly savedAlertsID: number;
  start(deps: ConsumersStart): Promise<Consumers>;
  /** Waits until all that is committed can be read, but not for long. */
  settle(): Promise<void>;
  /** Another process publishes the events of the shard from now on. */
  endTelling(): void;
  /** Closes the consumers. The shard stays open. */
  close(): Promise<void>;
}

export interface ConsumersStart {
  /** Called with points once they can be read. */
  readonly onStored: (points: readonly Point[]) => void;
  readonly config: Config;
  readonly status: Status;
  readonly gate: HistoryGate;
  readonly clock: Clock;
  readonly fatal: (error: Error) => void;
}

/** Points go to the store together, a few times a second. */
const settleStepMs = 10;
const settleMsMax = 500;

interface ShardPipelineDeps {
  readonly shard: Shard;
  readonly storage: Storage;
  /** For what follows from the shard's records. */
  readonly db: Db;
  readonly telling: ShardPublisher;
  readonly now: () => number;
  /** Whether what the consumers have not taken yet fills its bound on disk. */
  readonly backlogFull: () => boolean;
}

export function createShardPipeline(deps: ShardPipelineDeps): ShardPipeline {
  const { shard, storage, db, telling, now, backlogFull } = deps;
  const { journal, number } = shard;
  const accept = createAccept(journal, storage.metadata.meter, backlogFull);
  const presence = createPresence(db, number, now, telling.presence);
  let consumers: Consumers | null = null;
  return {
    shard,
    journal,
    accept,
    presence,
    get consumers() {
      return consumers;
    },
    get settledID() {
      return consumers?.series.settledID ?? 0;
    },
    get alertsID() {
      return consumers?.alerts.settledID ?? 0;
    },
    get savedAlertsID() {
      return consumers?.alerts.savedID ?? 0;
    },
    start: async ({ onStored, ...start }) => {
      const { metadata, series, aside, onFailed, onUncompiled, times } = storage;
      consumers = await startConsumers({
        ...start,
        db,
        onStored: (points) => {
          onStored(points);
          telling.points(points);
        },
        onSettled: telling.settled,
        onDecoded: telling.message,
        shard,
        metadata,
        series,
        presence,
        aside,
        rules: times.rules,
        onFailed,
        onUncompiled,
      });
      return consumers;
    },
    settle: async () => {
      const end = performance.now() + settleMsMax;
      while (
        consumers !== null &&
        consumers.series.settledID < journal.committedID &&
        performance.now() < end
      )
        await delay(settleStepMs);
    },
    endTelling: telling.end,
    close: async () => {
      await consumers?.close();
    },
  };
}
