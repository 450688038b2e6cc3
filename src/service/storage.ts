/** All durable parts: metadata, points, journal and sessions, opened in order and closed in reverse. */
import type { OnUncompiled } from "../../ingest/alerts/compiled-rules.js";
import type { DecodeRules } from "../../ingest/decode/points.js";
import type { OnFailed } from "../../ingest/followers/failures.js";
import { sessionBounds } from "../../ingest/sessions/bounds.js";
import { createHeldBytes, type HeldBytes } from "../../ingest/sessions/held-bytes.js";
import { createWorkBudget } from "../../ingest/uplinks/work-budget.js";
import { type Zone, zone } from "../../query/zone.js";
import { createIndexThread } from "../../store/events/event-indexer.js";
import type { EventLog, EventLogReading } from "../../store/events/events.js";
import { mergeEventLogs } from "../../store/events/merged-logs.js";
import { createDamageLog, type DamageLog } from "../../store/files/damage.js";
import type { BrokersReach } from "../../store/journal/kafka/brokers-reach.js";
import type { Clock } from "../../store/lib/clock.js";
import type { NodeIdentity } from "../../store/metadata/cluster/cluster-nodes.js";
import { createOwnedDb } from "../../store/metadata/cluster/owned-db.js";
import { newestChangeAt } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { createSessionFileThread } from "../../store/mqtt-sessions/session-file-thread.js";
import type { SeriesStore } from "../../store/series/series.js";
import { createUncompiledLog } from "../alerts/uncompiled-rules.js";
import { createRetentionClock, type RetentionClock } from "../background/retention-clock.js";
import { createReceipts, type Receipts } from "../commands/receipts.js";
import type { Config } from "../config/config.js";
import { readTrustedTime } from "../host/trusted-time.js";
import { localTimeIn } from "../import-export/points/local-time.js";
import type { Logger } from "../observability/log.js";
import { createTroubles, type Troubles } from "../observability/status.js";
import { folderCrashMarks } from "./crash-marks.js";
import { createDeadLetters, type DeadLetterManager } from "./dead-letters.js";
import { createFailedRecords, createFaults, type Faults } from "./faults.js";
import { openJournalLogs } from "./journal-log.js";
import { type MetadataLayer, openMetadataLayer } from "./metadata-layer.js";
import { movingCrashMarks } from "./moving-crash-marks.js";
import { createSeriesRefill, type Refill } from "./refill.js";
import { openSeries } from "./series.js";
import { type Opening, openShard, type Shard } from "./shard.js";
import { copyShardAhead } from "./shard-ahead.js";

export interface Storage {
  readonly metadata: MetadataLayer;
  /** The metadata for what follows from the shard's records. */
  readonly dbOf: (shard: number) => Db;
  readonly series: SeriesStore;
  /** Those that the process has for good. */
  readonly shards: readonly Shard[];
  /**
   * Opens one that has come to this process. If it rejects, nothing of it is left open.
   * @throws StoreError UNAVAILABLE, MISMATCH, CORRUPT; ConfigError
   */
  openShard(number: number, opening: Opening): Promise<Shard>;
  /** Copies a shard that another process has, and indexes the copy. @throws StoreError, ConfigError */
  copyShardAhead(number: number, signal: AbortSignal): Promise<void>;
  /** Which keep the journals; null: this machine does. */
  readonly brokers: BrokersReach | null;
  /** The events of all open shards. */
  readonly events: EventLogReading;
  readonly receipts: Receipts;
  /** The bytes that sessions hold. */
  readonly held: HeldBytes;
  readonly aside: DeadLetterManager;
  readonly refill: Refill;
  readonly times: PointTimes;
  readonly retentionClock: RetentionClock;
  /** Degraded and damaged parts, and errors thrown by a record or a packet. */
  readonly troubles: Troubles;
  readonly damage: DamageLog;
  readonly faults: Faults;
  readonly onFailed: OnFailed;
  readonly onUncompiled: OnUncompiled;
  /** Closes everything but the metadata, which hold the data folder's lock, and shards that have come since. */
  close(): Promise<void>;
}

/** The times that a point may have. */
interface PointTimes {
  readonly zone: Zone;
  /** The oldest time that is kept, microseconds; 0 = no limit. */
  oldest(): number;
  /** Includes the zone of times that name none. */
  rules(): Omit<DecodeRules, "asOfReceipt">;
}

const dayMs = 86_400_000;

/** @param identity of this process where shards move; null: its shards are its own for good */
export async function openStorage(
  config: Config,
  log: Logger,
  clock: Clock,
  fatal: (error: Error) => void,
  onShardEnded: (shard: number, reason: Error) => void,
  stopping: AbortSignal,
  identity: NodeIdentity | null,
): Promise<Storage> {
  const { now, monotonic } = clock;
  const damage = createDamageLog(({ what, ...where }) => log.error(`damage: ${what}`, where));
  const metadata = await openMetadataLayer(config, log, clock, damage, fatal);
  const { db, meter } = metadata;
  const dbOf = (shard: number): Db => (identity === null ? db : createOwnedDb(db, shard, identity));
  const logs = await openJournalLogs({ config, db, log, now, stopping });
  const troubles = createTroubles();
  const refill = createSeriesRefill(log);
  const series = await openSeries(config, db, {
    fatal,
    log,
    note: troubles.note,
    onDamage: damage.report,
    onGap: refill.fill,
  });
  const onFailed = createFailedRecords(log, meter, monotonic);
  const faults = createFaults(log, monotonic);
  const retentionClock = createRetentionClock(clock, log);
  const times = pointTimes(config, retentionClock.now);
  const marks = identity === null ? await folderCrashMarks(config.dataDir) : movingCrashMarks(db, dbOf, log);
  const aside = createDeadLetters({ config, marks, db, log, troubles, oldest: times.oldest, now });
  const work = createWorkBudget();
  const receipts = createReceipts({ db, log, now });
  const held = createHeldBytes(sessionBounds.heldBytesMax);
  const shared = {
    config,
    metadata,
    logs,
    series,
    damage,
    onFailed,
    aside,
    work,
    receipts,
    held,
    indexThread: createIndexThread(),
    sessionThread: createSessionFileThread(),
    log,
    faults,
    now,
    onEnded: onShardEnded,
  };
  const eventLogs: EventLog[] = [];
  const open = async (number: number, opening: Opening): Promise<Shard> => {
    const shard = await openShard(number, shared, opening);
    eventLogs.push(shard.events);
    return {
      ...shard,
      close: async () => {
        eventLogs.splice(eventLogs.indexOf(shard.events), 1);
        await shard.close();
      },
    };
  };
  const shards: Shard[] = [];
  for (const number of config.ownShards ?? []) shards.push(await open(number, { db, signal: stopping }));
  retentionClock.begin((await readTrustedTime(config.dataDir)) ?? (await newestTime(db, shards)));
  return {
    metadata,
    dbOf,
    series,
    shards,
    openShard: open,
    copyShardAhead: (number, signal) => copyShardAhead(number, shared, signal),
    brokers: logs?.brokers ?? null,
    events: mergeEventLogs(eventLogs),
    receipts,
    held,
    aside,
    refill,
    times,
    retentionClock,
    troubles,
    damage,
    faults,
    onFailed,
    onUncompiled: createUncompiledLog(log),
    close: async () => {
      await Promise.all(shards.map((shard) => shard.close()));
      metadata.stopFollowing();
      await series.close();
    },
  };
}

/** When the newest record of the journals or the log of changes was made, milliseconds since 1970; null without one. */
async function newestTime(db: Db, shards: readonly Shard[]): Promise<number | null> {
  const received = shards.map(({ journal }) => journal.lastReceivedAt / 1000);
  const newest = Math.max(0, (await newestChangeAt(db)) ?? 0, ...received);
  return newest === 0 ? null : newest;
}

/** @param now by which retention removes: what it would keep is not refused */
function pointTimes(config: Config, now: () => number): PointTimes {
  const { pointRetentionDays, oldestTime: earliest } = config;
  const deploymentZone = zone(config.timezone);
  const oldest = (): number => (pointRetentionDays === 0 ? 0 : (now() - pointRetentionDays * dayMs) * 1000);
  return {
    zone: deploymentZone,
    oldest,
    rules: () => ({ local: localTimeIn(deploymentZone), earliest, oldest: oldest() }),
  };
}
