import { setTimeout as delay } from "node:timers/promises";
import type { Journal } from "../../store/journal/journal.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  countRemovals,
  endRemovals,
  listRemovals,
  newestRemoval,
  type Removal,
  type RemovalSpan,
  tenantsWithRemovals,
} from "../../store/metadata/removals.js";
import type { DeviceKey, FieldKey, SeriesStore } from "../../store/series/series.js";
import type { Logger } from "../observability/log.js";

/** Removes the points of deleted devices and data points from the series store, and frees the deviceIDs. */
export interface Removals {
  readonly counts: RemovalCounts;
  /**
   * Removes until the queue is empty or the store cannot go on. The next call, even after a restart,
   * continues.
   */
  drain(): Promise<void>;
  /** Ends a drain after its current step. */
  stop(): void;
}

export interface RemovalCounts {
  /** Removals that were waiting when they were last counted. */
  readonly left: number;
  /** Removals done since the start. */
  readonly done: number;
}

interface JournalProgress {
  readonly journal: Pick<Journal, "appendedID">;
  readonly settledID: number;
}

export interface RemovalDeps {
  readonly db: Db;
  /** Those of the shards here, each with the id up to which its points are in the store. */
  readonly journals: { readonly all: readonly JournalProgress[] };
  readonly series: Pick<SeriesStore, "whichHavePoints" | "removeDevices" | "removeFields">;
  /** Resolves when every follower in this process knows of the deletions that are stored. */
  readonly followed: () => Promise<void>;
  /** Resolves when no import can still write points of what has been deleted. */
  readonly historySettled: () => Promise<void>;
  readonly log: Pick<Logger, "info">;
  /** Whether everything is to stay as it is, for a backup. */
  readonly isHeld: () => boolean;
}

/** How often, and for how long, a drain checks whether everything sent before the deletions is settled. */
const settleLookMs = 20;
const settleWaitMs = 5000;
/** Devices that the series store is asked about in one call. */
const requestedMax = 250;
/** Rows of one statement; more would block the loop. */
const endedAtOnce = 100;
/** How long devices are asked about before points are removed again. */
const requestEveryMs = 1000;
const tenantsPerStep = 50;
/** Devices whose points are removed in one call. */
const removedFirst = 16;
const removedMax = 250;
const quickMs = 250;
const slowMs = 1000;
/** A drain that takes longer is logged, and then again at this interval. */
const longMs = 1000;
const progressLogMs = 10_000;

export function createRemovals(deps: RemovalDeps): Removals {
  const { db, series } = deps;
  const counts = { left: 0, done: 0 };
  const stopping = new AbortController();
  const settling = createSettling(deps, stopping.signal);
  /**
   * By tenant, the id up to which the store was asked. What still waits below it has points, or is a data
   * point's.
   */
  const requested = new Map<number, number>();
  const countRequested = (tenant: number): number => requested.get(tenant) ?? 0;
  const askTenants = createTenantRotation(db);
  const removeTenants = createTenantRotation(db);
  let removedAtOnce = removedFirst;

  async function end(removals: readonly Removal[]): Promise<void> {
    for (let at = 0; at < removals.length; at += endedAtOnce) {
      const some = removals.slice(at, at + endedAtOnce);
      await endRemovals(
        db,
        some.map(({ id }) => id),
      );
      await nextTurn();
    }
    counts.done += removals.length;
    counts.left = Math.max(0, counts.left - removals.length);
  }

  /** Frees what has no points. False when nothing was left to ask for these tenants. */
  async function requestStep(): Promise<boolean> {
    const tenants = await askTenants(tenantsPerStep);
    const through = settling.through();
    const spans = tenants.map((tenant): RemovalSpan => ({ tenant, after: countRequested(tenant), through }));
    const removals = await listRemovals(db, spans, share(requestedMax, tenants));
    if (removals.length === 0) return false;
    const ofDevices = removals.filter(isOfDevice);
    const have = await series.whichHavePoints(ofDevices);
    await end(ofDevices.filter((_, i) => have[i] === false));
    for (const { id, tenant } of removals) requested.set(tenant, Math.max(countRequested(tenant), id));
    return true;
  }

  /** Removes the points of some of those that were found to have any. */
  async function removeStep(): Promise<void> {
    const tenants = await removeTenants(Math.min(tenantsPerStep, removedAtOnce));
    const spans = tenants.map(
      (tenant): RemovalSpan => ({ tenant, after: 0, through: countRequested(tenant) }),
    );
    const removals = await listRemovals(db, spans, share(removedAtOnce, tenants));
    if (removals.length === 0) return;
    const began = performance.now();
    try {
      await series.removeDevices(removals.filter(isOfDevice));
      await series.removeFields(removals.filter(isOfField));
    } catch (error) {
      removedAtOnce = Math.max(1, Math.floor(removedAtOnce / 2));
      throw error;
    }
    await end(removals);
    removedAtOnce = nextAtOnce(removedAtOnce, performance.now() - began);
  }

  async function drain(): Promise<void> {
    if ((await newestRemoval(db)) === 0) {
      counts.left = 0;
      return;
    }
    const { signal } = stopping;
    const progressLog = createProgressLog(deps, counts);
    counts.left = await countRemovals(db);
    while (!signal.aborted && !deps.isHeld()) {
      const newest = await newestRemoval(db);
      if (newest === 0) break;
      if (!(await settling.settle(newest))) break;
      const askUntil = performance.now() + requestEveryMs;
      while (!signal.aborted && !deps.isHeld() && (await requestStep()) && performance.now() < askUntil)
        await nextTurn();
      await nextTurn();
      if (deps.isHeld()) break;
      await removeStep();
      await progressLog.progress();
    }
    progressLog.end();
  }

  return { counts, drain, stop: () => stopping.abort() };
}

function share(max: number, tenants: readonly number[]): number {
  return Math.max(1, Math.floor(max / Math.max(1, tenants.length)));
}

/** Twice as many after a quick step, half as many after a slow one. */
function nextAtOnce(atOnce: number, tookMs: number): number {
  if (tookMs < quickMs) return Math.min(removedMax, atOnce * 2);
  return tookMs > slowMs ? Math.max(1, Math.floor(atOnce / 2)) : atOnce;
}

/** Waits until everything that was sent before a deletion is in the store, so that it is removed with the rest. */
function createSettling(deps: RemovalDeps, stopping: AbortSignal) {
  let settledThrough = 0;
  return {
    /** Removals up to this id may be processed. */
    through: () => settledThrough,
    /** False when what was sent before does not settle in time: the store is unavailable, or far behind. */
    settle: async (newest: number): Promise<boolean> => {
      if (newest <= settledThrough) return true;
      await deps.followed();
      // Covers what was appended before the deletion was known; messages that come later find no device.
      const sentBefore = deps.journals.all.map((one) => ({ one, id: one.journal.appendedID }));
      const isSettled = () => sentBefore.every(({ one, id }) => one.settledID >= id);
      for (let waitedMs = 0; !isSettled(); waitedMs += settleLookMs) {
        if (stopping.aborted || waitedMs >= settleWaitMs) return false;
        await delay(settleLookMs);
      }
      await deps.historySettled();
      settledThrough = newest;
      return true;
    },
  };
}

/** Tenants take turns: each call answers the next ones after those of the call before, round and round. */
function createTenantRotation(db: Db): (limit: number) => Promise<number[]> {
  let last = 0;
  return async (limit) => {
    const next = await tenantsWithRemovals(db, last, limit);
    const tenants = next.length > 0 || last === 0 ? next : await tenantsWithRemovals(db, 0, limit);
    last = tenants.at(-1) ?? 0;
    return tenants;
  };
}

const isOfDevice = (removal: Removal): removal is Removal & DeviceKey => removal.deviceID !== null;
const isOfField = (removal: Removal): removal is Removal & FieldKey => removal.field !== null;

/** Logs how fast a long drain proceeds, and what is left. */
function createProgressLog({ db, log }: RemovalDeps, counts: { left: number; readonly done: number }) {
  const began = performance.now();
  const doneBefore = counts.done;
  let logged = 0;
  let loggedAt = began;
  const figures = () => {
    const seconds = (performance.now() - began) / 1000;
    const removed = counts.done - doneBefore;
    return { removed, left: counts.left, perSecond: Math.round(removed / seconds) };
  };
  return {
    progress: async () => {
      const now = performance.now();
      if (now - loggedAt < (logged === 0 ? longMs : progressLogMs)) return;
      counts.left = await countRemovals(db);
      log.info("removing points of what was deleted", figures());
      logged++;
      loggedAt = now;
    },
    end: () => {
      if (logged > 0) log.info("removed points of what was deleted", figures());
    },
  };
}
