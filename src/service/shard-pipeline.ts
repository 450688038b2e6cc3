import type { SeriesConsumerOptions } from "../../ingest/consumers/series.js";
import { createPresence, type Presence } from "../../ingest/directory/presence.js";
import type { DecodedListener } from "../../ingest/followers/decoded.js";
import { type Accept, createAccept } from "../../ingest/uplinks/accept.js";
import type { Journal } from "../../store/journal/journal.js";
import type { Clock } from "../../store/lib/clock.js";
import type { Config } from "../config/config.js";
import type { HistoryGate } from "../import-export/points/gate.js";
import type { Status } from "../observability/status.js";
import { type Consumers, startConsumers } from "./consumers.js";
import type { Telling } from "./live-telling.js";
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
  /** Of the consumer of alerts: up to which it has come, and from which it continues after a restart. */
  readonly alertsID: number;
  readonly savedAlertsID: number;
  start(deps: ConsumersStart): Promise<Consumers>;
  /** Closes the consumers. The shard stays open. */
  close(): Promise<void>;
}

export interface ConsumersStart extends Required<Pick<SeriesConsumerOptions, "onStored">> {
  readonly onDecoded: DecodedListener["offer"];
  readonly config: Config;
  readonly storage: Storage;
  readonly status: Status;
  readonly gate: HistoryGate;
  readonly clock: Clock;
  readonly fatal: (error: Error) => void;
}

/** `backlogFull`: what the consumers have not taken yet fills its bound on disk. */
export function createShardPipeline(
  shard: Shard,
  { metadata: { db, meter } }: Pick<Storage, "metadata">,
  telling: Pick<Telling, "presence">,
  now: () => number,
  backlogFull: () => boolean,
): ShardPipeline {
  const { journal, number } = shard;
  const accept = createAccept(journal, meter, backlogFull);
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
    start: async ({ storage, ...deps }) => {
      const { metadata, series, aside, onFailed, times } = storage;
      consumers = await startConsumers({
        ...deps,
        shard,
        metadata,
        series,
        presence,
        aside,
        rules: times.rules,
        onFailed,
      });
      return consumers;
    },
    close: async () => {
      await consumers?.close();
    },
  };
}
