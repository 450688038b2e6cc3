/** The path of an uplink, and the work beside it: the way into the journal, its consumers, status, maintenance. */
import type { ByShard } from "../../ingest/directory/by-shard.js";
import { createLiveFeed, type LiveFeed } from "../../ingest/live/feed.js";
import { createTenantFeed, type TenantFeed, tenantFeedDefaults } from "../../ingest/live/tenant-feed.js";
import type { Clock } from "../../store/lib/clock.js";
import { type DeviceIngest, ingestElsewhere } from "../../store/metadata/devices/ingest.js";
import type { HoldOwner } from "../background/retention-hold.js";
import { seriesEngine } from "../config/config.js";
import type { BuildInfo } from "../host/build-info.js";
import { createHistoryGate, type HistoryGate } from "../import-export/points/gate.js";
import { createLocalLogs, type LocalLogs } from "../journal-lists/local-logs.js";
import { createClockWatch } from "../observability/clock-watch.js";
import type { Logger } from "../observability/log.js";
import { createStatus, type Status } from "../observability/status.js";
import { createChecks } from "./checks.js";
import { replaySince } from "./consumers.js";
import { createLivePublisher, sumLiveCounts } from "./live-publisher.js";
import { type Maintenance, startMaintenance } from "./maintenance.js";
import type { ShardPipeline } from "./shard-pipeline.js";
import { createShardSet, type ShardSet, type ShardSetDeps } from "./shard-set.js";
import { createZoneComparison } from "./zone-versions.js";

export interface Pipelines {
  readonly ofShards: ByShard<ShardPipeline>;
  /** The event logs of its shards. */
  readonly kept: LocalLogs;
  /** Takes and gives shards while the process runs. */
  readonly moving: ShardSet;
  /** Why a shard takes nothing, or null. */
  stopped(): string | null;
  /** Points at the moment that they are stored. */
  readonly live: LiveFeed;
  /** What happens to a tenant's devices, for its streams. */
  readonly tenantLive: TenantFeed;
  /** What happens to the devices that are kept here, for other nodes of a cluster. */
  readonly keptLive: TenantFeed;
  /** Coordinates imports with deletions. */
  readonly gate: HistoryGate;
  readonly status: Status;
  /** Writes all changes of presence so far, before somebody reads them. */
  settlePresence(): Promise<void>;
  /** Writes at once what has been counted of these devices. */
  settleAlerts(devices: readonly number[]): Promise<void>;
  /** What each shard, here or elsewhere, has counted of a device. */
  ingestOf(device: number): Promise<readonly DeviceIngest[]>;
  /** Writes the points of kept messages again, those received since, milliseconds since 1970, and some before. */
  replaySince(sinceMs: number): Promise<{ readonly messages: number; readonly points: number }>;
  /**
   * Keeps in place what retention and removals would take, for a backup. Returns the journal id of each shard up to
   * which everything is on disk.
   */
  hold(seconds: number, holder: HoldOwner): Promise<readonly number[]>;
  /** Marks the service as ending; streams end. */
  beginClosing(): void;
  /** Publishes nothing more to other nodes, once the shards that go to them have gone. */
  endTelling(): void;
  /** Closes the consumers. */
  close(): Promise<void>;
}

interface PipelinesDeps extends Pick<ShardSetDeps, "storage" | "config" | "holders"> {
  readonly build: BuildInfo;
  readonly log: Logger;
  readonly clock: Clock;
  readonly fatal: (error: Error) => void;
}

export async function startPipelines(deps: PipelinesDeps): Promise<Pipelines> {
  const { storage, config, build, log, clock, fatal, holders } = deps;
  const { metadata, series, aside, refill, damage, retentionClock } = storage;
  const { db, meter } = metadata;
  const { now, monotonic } = clock;
  const live = createLiveFeed();
  const tenantLive = createTenantFeed();
  // How many streams there may be is decided where they are asked for.
  const keptLive = createTenantFeed({
    ...tenantFeedDefaults,
    listenersMax: Number.POSITIVE_INFINITY,
    listenersOfTenantMax: Number.POSITIVE_INFINITY,
  });
  metadata.follow(tenantLive.changed);
  const telling = createLivePublisher([tenantLive, keptLive], metadata.directory, now);
  const gate = createHistoryGate();
  metadata.follow(gate.changed);
  let maintenance: Maintenance | null = null;
  let closing = false;
  const isBacklogFull = (shard: number): boolean => maintenance?.isBacklogFull(shard) ?? false;
  const stopped = (): string | null =>
    pipelines.all.map(({ accept }) => accept.stopped).find((reason) => reason !== null) ?? null;
  const status = createStatus({
    troubles: storage.troubles,
    meter,
    // Nodes that listen are none of the listeners.
    live: sumLiveCounts(live, tenantLive, { counts: () => ({ ...keptLive.counts(), listeners: 0 }) }),
    damage,
    removals: () => maintenance?.removals ?? { left: 0, done: 0 },
    setAside: aside.counts,
    heldBytes: () => storage.held.total,
    stopped,
    closing: () => closing,
    build: { ...build, engine: seriesEngine(config), timezones: config.timeZones.version },
    dataDir: config.dataDir,
    freeBytesMin: config.freeBytesMin,
    startedAt: now(),
    monotonic,
    log,
    retentionLagMs: () => retentionClock.lagMs,
  });
  const set = createShardSet({
    config,
    storage,
    status,
    telling,
    consuming: { config, status, gate, onStored: live.publish, clock, fatal },
    isBacklogFull,
    holders,
  });
  const { pipelines } = set;
  for (const shard of storage.shards) await set.begin(shard);
  refill.begin(
    pipelines.all.flatMap(({ journal, consumers }) =>
      consumers === null ? [] : { journal, consumer: consumers.series },
    ),
  );
  const checks = createChecks({
    config,
    shards: () => pipelines.all.map(({ shard }) => shard),
    series,
    report: damage.report,
    log,
  });
  const watchJumps = createClockWatch(clock, log, status.clockJumped);
  maintenance = startMaintenance({
    config,
    db,
    pipelines,
    series,
    checks,
    log,
    now,
    followed: metadata.followed,
    historySettled: gate.settled,
    monotonic,
    compareZones: createZoneComparison({ config, db, note: status.note, log }),
    watchClock: () => {
      watchJumps();
      retentionClock.tick();
    },
    retentionClock,
    tick: status.tick,
  });
  const maintained = maintenance;

  return {
    ofShards: pipelines,
    kept: createLocalLogs(
      () => pipelines.places().here,
      () => pipelines.all.map(({ shard }) => shard.events),
    ),
    moving: set,
    stopped,
    live,
    tenantLive,
    keptLive,
    gate,
    status,
    settlePresence: async () => {
      await Promise.all(pipelines.all.map(({ presence }) => presence.settle()));
    },
    settleAlerts: async (devices) => {
      await Promise.all(pipelines.all.map(({ consumers }) => consumers?.alerts.settle(devices)));
    },
    ingestOf: async (device) => {
      const here = pipelines.all.map(({ shard }) => shard.number);
      const own = await Promise.all(pipelines.all.map(({ consumers }) => consumers?.alerts.ingestOf(device)));
      return [...own.filter((one) => one !== undefined), ...(await ingestElsewhere(db, here, device))];
    },
    replaySince: async (sinceMs) => {
      const total = { messages: 0, points: 0 };
      for (const { journal, consumers } of pipelines.all) {
        const { messages, points } = await replaySince(journal, consumers?.series, sinceMs);
        total.messages += messages;
        total.points += points;
      }
      return total;
    },
    hold: async (seconds, holder) => {
      await maintained.hold(seconds, holder);
      return pipelines.all.map(({ journal }) => journal.committedID);
    },
    beginClosing: () => {
      closing = true;
      refill.stop();
      live.close();
      tenantLive.close();
    },
    endTelling: keptLive.close,
    close: async () => {
      await Promise.all(pipelines.all.map((one) => one.close()));
      await maintained.close();
      checks.close();
    },
  };
}
