import { createCompiledRulesCache, type OnUncompiled } from "../../ingest/alerts/compiled-rules.js";
import { type AlertsConsumer, startAlertsConsumer } from "../../ingest/alerts/consumer.js";
import { redecode } from "../../ingest/consumers/redecode.js";
import {
  type SeriesConsumer,
  type SeriesConsumerOptions,
  startSeriesConsumer,
} from "../../ingest/consumers/series.js";
import type { Presence } from "../../ingest/directory/presence.js";
import type { DecodedListener } from "../../ingest/followers/decoded.js";
import type { Journal } from "../../store/journal/journal.js";
import type { JournalRecord } from "../../store/journal/record.js";
import type { Clock } from "../../store/lib/clock.js";
import type { Db } from "../../store/metadata/db/db.js";
import { quarantine } from "../../store/metadata/quarantine.js";
import type { SeriesStore } from "../../store/series/series.js";
import { createConditions } from "../alerts/conditions.js";
import type { Config } from "../config/config.js";
import type { HistoryGate } from "../import-export/points/gate.js";
import type { Status } from "../observability/status.js";
import type { DeadLetterManager } from "./dead-letters.js";
import type { MetadataLayer } from "./metadata-layer.js";
import { measureTime, ofShard } from "./series.js";
import type { Shard } from "./shard.js";

/**
 * The journal's consumers: they write points to the series store, and turn messages into alerts, locations and
 * counters.
 */
export interface Consumers {
  readonly series: SeriesConsumer;
  readonly alerts: AlertsConsumer;
  close(): Promise<void>;
}

interface ConsumersDeps
  extends Required<Pick<SeriesConsumerOptions, "rules" | "onStored" | "onSettled" | "onFailed">> {
  readonly config: Config;
  readonly metadata: MetadataLayer;
  /** For what follows from the shard's records. */
  readonly db: Db;
  readonly shard: Shard;
  readonly series: SeriesStore;
  readonly presence: Presence;
  readonly status: Status;
  readonly aside: DeadLetterManager;
  readonly clock: Clock;
  readonly gate: Pick<HistoryGate, "run">;
  /** Is given each stored alert rule that does not compile, whenever it is compiled. */
  readonly onUncompiled: OnUncompiled;
  /** Called with each record that has been decoded. */
  readonly onDecoded: DecodedListener["offer"];
  /** Called when a consumer cannot go on. */
  readonly fatal: (error: Error) => void;
}

/** InfluxDB syncs its log at each write, so it handles larger batches best. */
const influxWrites = { pointsMax: 20_000, lingerMs: 50 } as const;
const embeddedWrites = { pointsMax: 5000, lingerMs: 5 } as const;

export async function startConsumers(deps: ConsumersDeps): Promise<Consumers> {
  const { config, shard, metadata, db, presence, status, aside, rules, onFailed, clock, fatal } = deps;
  const { number, journal } = shard;
  const { directory, meter } = metadata;
  const shared = { journal, directory, db, meter, rules, onFailed, onFailure: fatal };
  const alerts = await startAlertsConsumer({
    ...shared,
    ...clock,
    node: number,
    narrow: aside.narrow(shard, "alerts"),
    offlineGraceMs: config.offlineAlertSeconds * 1000,
    compiledRules: createCompiledRulesCache(db, createConditions(), deps.onUncompiled),
    onCarried: (device, parent, at) => presence.carried(device, parent, Math.floor(at / 1000)),
    onTrouble: (error) => status.note("alerts", error?.message ?? null),
  });
  const unfollow = metadata.follow(alerts.forget);
  aside.replaysBy(number, "alerts", alerts.replay);
  aside.replaysBy(number, "series", (record) => writeLate(deps, record));
  const noteWrites = (trouble: string | null) => status.note("series", trouble, `shard ${number}`);
  const stopAlerts = async (): Promise<void> => {
    unfollow();
    await alerts.close();
    // This process no longer writes the shard's alerts, so their trouble is cleared.
    status.note("alerts", null);
  };
  const series = await startSeriesConsumer({
    ...shared,
    now: clock.now,
    listener: {
      offer: (...decoded) => {
        alerts.offer(...decoded);
        deps.onDecoded(...decoded);
      },
    },
    ...(config.influx === null ? embeddedWrites : influxWrites),
    series: measureTime(ofShard(deps.series, number), status),
    narrow: aside.narrow(shard, "series"),
    isAside: (id) => aside.isAside("series", id),
    onStored: deps.onStored,
    onSettled: deps.onSettled,
    onTrouble: (error) => {
      noteWrites(error?.message ?? null);
      if (error !== null) aside.letOthersOn(number);
    },
  }).catch(async (error: unknown) => {
    await stopAlerts();
    throw error;
  });
  return {
    series,
    alerts,
    close: async () => {
      await series.close();
      noteWrites(null);
      await stopAlerts();
    },
  };
}

/** Stores only those points of a dead letter that are missing: newer messages may have written points at its times. */
async function writeLate(deps: ConsumersDeps, record: JournalRecord): Promise<void> {
  const { metadata, series, rules, onFailed, clock } = deps;
  const device = await metadata.directory.get(record.device);
  if (device === undefined) return;
  await redecode({
    series,
    device,
    rules,
    onFailed,
    start: record.receivedAt,
    stop: record.receivedAt + 1,
    events: { kept: () => only(record) },
    isAside: () => false,
    guarded: (points, write) => deps.gate.run(() => write(points)),
    refused: (points) => quarantine(metadata.db, clock.now(), points, null),
    dryRun: false,
    reached: async () => undefined,
    signal: new AbortController().signal,
  });
}

async function* only(record: JournalRecord): AsyncGenerator<JournalRecord> {
  yield record;
}

/** Writes the points of kept messages again, starting with the segment that holds `sinceMs`. */
export async function replaySince(
  journal: Journal,
  consumer: SeriesConsumer | undefined,
  sinceMs: number,
): Promise<{ messages: number; points: number }> {
  if (consumer === undefined) return { messages: 0, points: 0 };
  // The last segment begun before that time holds its first record.
  const from = journal.segments.findLast((segment) => segment.createdAt <= sinceMs) ?? journal.segments[0];
  return consumer.replay(from === undefined ? 0 : from.firstID - 1);
}
