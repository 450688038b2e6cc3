import type { ByShard } from "../../ingest/directory/by-shard.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import {
  removeOldestControlLogs,
  tenantsOverLogBytes,
} from "../../store/metadata/commands/control-log-bytes.js";
import { removeOldControlLogs } from "../../store/metadata/commands/control-logs.js";
import { createChangeRetention } from "../../store/metadata/db/change-retention.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { SeriesStore } from "../../store/series/series.js";
import { createAlertRetention } from "../alerts/alert-retention.js";
import { every } from "../background/every.js";
import { logRemoved } from "../background/log-removed.js";
import { createRemovals, type RemovalCounts } from "../background/removals.js";
import type { RetentionClock } from "../background/retention-clock.js";
import { createRetentionHold, type HoldOwner, type RetentionHold } from "../background/retention-hold.js";
import type { Config } from "../config/config.js";
import { keepReserve } from "../host/reserve.js";
import { saveTrustedTime } from "../host/trusted-time.js";
import type { Logger } from "../observability/log.js";
import { createBacklog } from "./backlog.js";
import type { Checks } from "./checks.js";
import { createEventRetention } from "./event-retention.js";
import type { ShardPipeline } from "./shard-pipeline.js";
import { zoneVersionsMs } from "./zone-versions.js";

/**
 * The periodic jobs besides the pipelines: they save state, unlink old segments, and remove the points of deleted
 * devices and data points.
 */
export interface Maintenance {
  /** Whether the backlog of the shard's consumers is at its limit. */
  isBacklogFull(shard: number): boolean;
  readonly removals: RemovalCounts;
  /** Keeps what retention and removals would take, for a while; resolves once nothing is being taken any more. */
  hold(seconds: number, holder: HoldOwner): Promise<void>;
  close(): Promise<void>;
}

interface MaintenanceDeps {
  readonly config: Config;
  readonly db: Db;
  readonly pipelines: Pick<ByShard<ShardPipeline>, "all">;
  readonly series: SeriesStore;
  readonly checks: Pick<Checks, "look">;
  /** Resolves when every follower in this process knows of the deletions that are stored. */
  readonly followed: () => Promise<void>;
  /** Resolves when no import can still write points of deleted devices and data points. */
  readonly historySettled: () => Promise<void>;
  /** Checks whether the wall clock was set. */
  readonly watchClock: () => void;
  /** Compares the time zone rules of this process with those of the others. */
  readonly compareZones: () => Promise<void>;
  readonly retentionClock: Pick<RetentionClock, "now" | "trusted">;
  /** Advances the windows of measures over recent time. */
  readonly tick: () => void;
  readonly log: Logger;
  readonly now: () => number;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

const presenceMs = 100;
const sessionsMs = 2000;
const sessionExpiryMs = 60_000;
const backlogMs = 1000;
const snapshotsMs = 30_000;
const retentionMs = 10_000;
const removalMs = 500;
const pointRetentionMs = 10_000;
const reserveMs = 2000;
/** How long after a start the first check runs. */
const checksMs = 30_000;
const controlLogsMs = 60_000;
const alertsMs = 300_000;
const changesMs = 10_000;
const clockMs = 1000;
const trustedTimeMs = 60_000;
/** More often than a second, so that none is passed over for long. */
const tickMs = 250;
/** Rows of one delete, and deletes of one round. */
const controlLogsPerStep = 1000;
const controlLogSteps = 20;
const controlLogBytesMs = 5000;
const dayMs = 86_400_000;

export function startMaintenance(deps: MaintenanceDeps): Maintenance {
  const backlog = createBacklog(deps);
  const ending = new AbortController();
  const held = createRetentionHold(deps.monotonic);
  const { pipelines } = deps;
  const retentionTime = deps.retentionClock.now;
  const removals = createRemovals({ ...deps, journals: pipelines, isHeld: () => held.isHeld });
  const inEach = (work: (one: ShardPipeline) => Promise<void>) => async () => {
    const failures: unknown[] = [];
    for (const one of pipelines.all) {
      // It may have been closed meanwhile. What one cannot do holds up none of the others.
      if (pipelines.all.includes(one)) await work(one).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  };
  let removing: Promise<void> = Promise.resolve();
  const dropChanges = createChangeRetention(deps.db, {
    days: deps.config.changeRetentionDays,
    rowsOfTenantMax: deps.config.changeRowsMax,
    bytesOfTenantMax: deps.config.changeLogBytes,
    followed: deps.followed,
    isClosing: () => ending.signal.aborted,
  });
  const saveTime = async (): Promise<void> => {
    const { trusted } = deps.retentionClock;
    if (trusted !== null) await saveTrustedTime(deps.config.dataDir, trusted);
  };
  const jobs = [
    every(
      presenceMs,
      "save presence",
      deps.log,
      inEach(({ presence }) => presence.save()),
    ),
    every(
      sessionsMs,
      "save sessions",
      deps.log,
      inEach(({ shard }) => shard.save()),
    ),
    every(
      sessionExpiryMs,
      "end sessions",
      deps.log,
      inEach(({ shard }) => shard.endExpired(retentionTime())),
    ),
    every(
      snapshotsMs,
      "copy sessions into their journals",
      deps.log,
      inEach(async ({ shard }) => (held.isHeld ? undefined : shard.snapshots?.keepUp(ending.signal))),
    ),
    every(backlogMs, "measure the backlog", deps.log, backlog.measure),
    every(
      retentionMs,
      "apply the events' retention",
      deps.log,
      createEventRetention({ ...deps, now: retentionTime, isHeld: () => held.isHeld, ending: ending.signal }),
    ),
    every(removalMs, "remove points", deps.log, () => {
      removing = removals.drain();
      return removing;
    }),
    every(zoneVersionsMs, "compare the time zone rules of the nodes", deps.log, deps.compareZones),
    every(clockMs, "look at the clock", deps.log, deps.watchClock),
    every(tickMs, "count by seconds", deps.log, deps.tick),
    every(pointRetentionMs, "apply the points' retention", deps.log, createPointRetention(deps, held)),
    every(reserveMs, "set space aside", deps.log, () =>
      keepReserve(deps.config.dataDir, deps.config.freeBytesMin),
    ),
    every(checksMs, "check the databases", deps.log, () => deps.checks.look()),
    every(trustedTimeMs, "save the time that retention trusts", deps.log, saveTime),
    every(changesMs, "apply the log of changes' retention", deps.log, async () => {
      const before = retentionTime();
      const { old } = await dropChanges(deps.now(), before);
      logRemoved(deps.log, "changes", old, before - deps.config.changeRetentionDays * dayMs);
    }),
    every(controlLogsMs, "apply the control logs' retention", deps.log, () => dropControlLogs(deps)),
    every(controlLogBytesMs, "keep control logs within their bytes", deps.log, () => trimControlLogs(deps)),
    every(
      alertsMs,
      "apply the alerts' retention",
      deps.log,
      createAlertRetention(deps.db, {
        days: deps.config.alertRetentionDays,
        rowsMax: deps.config.alertHistoryMax,
        now: retentionTime,
        log: deps.log,
      }),
    ),
  ];
  return {
    isBacklogFull: backlog.isFull,
    removals: removals.counts,
    hold: async (seconds, holder) => {
      held.keep(seconds, holder);
      if (seconds > 0) await removing.catch(() => undefined);
    },
    close: async () => {
      ending.abort();
      removals.stop();
      await Promise.all(jobs.map((job) => job.stop()));
      await Promise.all(pipelines.all.map(({ presence }) => presence.save().catch(() => undefined)));
      await saveTime().catch(() => undefined);
    },
  };
}

async function dropControlLogs({ config, db, retentionClock, log }: MaintenanceDeps): Promise<void> {
  const createdBefore = retentionClock.now() - config.eventRetentionDays * dayMs;
  let rows = 0;
  for (let step = 0; step < controlLogSteps; step++) {
    const removed = await removeOldControlLogs(db, createdBefore, controlLogsPerStep);
    rows += removed;
    if (removed < controlLogsPerStep) break;
  }
  logRemoved(log, "control logs", rows, createdBefore);
}

/** Every tenant over its limit gets a turn; the rest waits for the next round. */
async function trimControlLogs({ config, db }: MaintenanceDeps): Promise<void> {
  for (const { tenant, surplus } of await tenantsOverLogBytes(db, config.controlLogBytes)) {
    let left = surplus;
    for (let step = 0; step < controlLogSteps && left > 0; step++) {
      const gone = await removeOldestControlLogs(db, tenant, left, controlLogsPerStep);
      if (gone === 0) break;
      left -= gone;
      await nextTurn();
    }
  }
}

/**
 * Points are removed by whole UTC days, once a day and up to a day late, so that the store walks its series only once a
 * day. The removal runs in the background however long it takes, and the end of the service does not wait for it: the
 * store stops it on closing.
 */
function createPointRetention(
  { config, series, retentionClock, log }: MaintenanceDeps,
  held: RetentionHold,
): () => Promise<void> {
  let done = Number.NEGATIVE_INFINITY;
  let running = false;
  const remove = async (limitMs: number): Promise<void> => {
    try {
      const removed = await series.removeBefore(limitMs * 1000);
      done = limitMs;
      const before = new Date(limitMs).toISOString();
      // Where the engine does not say, there may have been some.
      if (removed === null) log.info("retention has removed what points there were", { before });
      else logRemoved(log, "points", removed.points, limitMs, { from: formatISO(removed.oldest) });
    } catch (error) {
      log.warn("cannot apply the points' retention", { error });
    } finally {
      running = false;
    }
  };
  return async () => {
    const limitMs = Math.floor(retentionClock.now() / dayMs - config.pointRetentionDays) * dayMs;
    if (config.pointRetentionDays === 0 || running || held.isHeld || limitMs === done) return;
    running = true;
    void remove(limitMs);
  };
}

const formatISO = (micros: number | null): string | null =>
  micros === null ? null : new Date(micros / 1000).toISOString();
