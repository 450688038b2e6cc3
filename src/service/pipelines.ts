/** The path of an uplink, and the work beside it: the way into the journal, its consumers, status, maintenance. */
import { createPresence, type Presence } from "../../ingest/directory/presence.js";
import { createLiveFeed, type LiveFeed } from "../../ingest/live/feed.js";
import { createTenantFeed, type TenantFeed } from "../../ingest/live/tenant-feed.js";
import { type Accept, createAccept } from "../../ingest/uplinks/accept.js";
import type { Clock } from "../../store/lib/clock.js";
import type { Holder } from "../background/hold.js";
import { type Config, engineOf } from "../config/config.js";
import type { BuildInfo } from "../host/build-info.js";
import { createHistoryGate, type HistoryGate } from "../import-export/points/gate.js";
import { createLiveWatch, type LiveWatch } from "../live/watch.js";
import { createClockWatch } from "../observability/clock-watch.js";
import type { Logger } from "../observability/log.js";
import { createStatus, type Status } from "../observability/status.js";
import { createChecks } from "./checks.js";
import { type Consumers, startConsumers } from "./consumers.js";
import { countsOf, createTelling } from "./live-telling.js";
import { type Maintenance, startMaintenance } from "./maintenance.js";
import type { Storage } from "./storage.js";

export interface Pipelines {
  readonly accept: Accept;
  readonly presence: Presence;
  /** Points at the moment that they are stored. */
  readonly live: LiveFeed;
  /** What happens to a tenant's devices, for its streams. */
  readonly tenantLive: TenantFeed;
  readonly liveWatch: LiveWatch;
  /** Coordinates imports with deletions. */
  readonly gate: HistoryGate;
  readonly status: Status;
  /** Null if the service writes no points, which is for benches only. */
  readonly consumers: Consumers | null;
  /**
   * Keeps in place what retention and removals would take, for a backup. Returns the journal id up to which everything
   * is on disk.
   */
  hold(seconds: number, holder: Holder): Promise<number>;
  /** Marks the service as ending; live feeds end. */
  beginClosing(): void;
  /** Closes the consumers and the journal. */
  close(): Promise<void>;
}

export async function startPipelines(
  storage: Storage,
  config: Config,
  build: BuildInfo,
  log: Logger,
  clock: Clock,
  fatal: (error: Error) => void,
): Promise<Pipelines> {
  const { metadata, messaging, series, aside, refill, damage, onFailed } = storage;
  const { db, meter } = metadata;
  const { journal, events, saved } = messaging;
  const { now, monotonic } = clock;
  const live = createLiveFeed();
  const tenantLive = createTenantFeed();
  metadata.follow(tenantLive.changed);
  const telling = createTelling(tenantLive, metadata.directory, now);
  const presence = createPresence(db, config.nodeNumber, now, telling.presence);
  const gate = createHistoryGate();
  metadata.follow(gate.changed);
  let consumers: Consumers | null = null;
  let maintenance: Maintenance | null = null;
  let closing = false;
  const settledID = (): number => consumers?.series.settledID ?? 0;
  const accept = createAccept(journal, meter, () => maintenance?.backlogFull ?? false);
  const status = createStatus({
    troubles: storage.troubles,
    journal,
    meter,
    live: countsOf(live, tenantLive),
    damage,
    settledID,
    alertsID: () => consumers?.alerts.settledID ?? 0,
    removals: () => maintenance?.removals ?? { left: 0, done: 0 },
    setAside: aside.counts,
    heldBytes: () => messaging.registry.held.total,
    stopped: () => accept.stopped,
    closing: () => closing,
    build: { ...build, engine: engineOf(config) },
    dataDir: config.dataDir,
    freeBytesMin: config.freeBytesMin,
    startedAt: now(),
    monotonic,
  });
  const liveWatch = createLiveWatch({ db, feed: tenantLive, meter, status, now, log });
  if (!config.holdSeries) {
    consumers = await startConsumers({
      config,
      metadata,
      journal,
      series,
      presence,
      status,
      aside,
      gate,
      rules: storage.times.rules,
      onFailed,
      onStored: (points) => {
        live.publish(points);
        tenantLive.publish(points);
      },
      onDecoded: telling.message,
      clock,
      fatal,
    });
    refill.begin({ journal, consumer: consumers.series });
  }
  const checks = createChecks({ config, messaging, series, report: damage.report, log });
  maintenance = startMaintenance({
    config,
    db,
    journal,
    events,
    series,
    presence,
    checks,
    settledID,
    log,
    now,
    sessions: { save: messaging.save, end: messaging.endExpired, savedID: () => saved.savedID },
    savedID: () => consumers?.alerts.savedID ?? 0,
    followed: metadata.followed,
    historySettled: gate.settled,
    monotonic,
    watchClock: createClockWatch(clock, log, status.clockJumped),
    tick: status.tick,
  });
  const maintained = maintenance;

  return {
    accept,
    presence,
    live,
    tenantLive,
    liveWatch,
    gate,
    status,
    consumers,
    hold: async (seconds, holder) => {
      await maintained.hold(seconds, holder);
      return journal.committedID;
    },
    beginClosing: () => {
      closing = true;
      refill.stop();
      live.close();
      tenantLive.close();
    },
    close: async () => {
      // The consumers first: a closed journal has nothing to wait for.
      await consumers?.close();
      await journal.close();
      await maintained.close();
      await liveWatch.close();
      checks.close();
    },
  };
}
