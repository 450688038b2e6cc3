import { statfsSync } from "node:fs";
import {
  createHistogram as createRecordable,
  type IntervalHistogram,
  monitorEventLoopDelay,
} from "node:perf_hooks";
import type { LiveFeed } from "../../ingest/live/feed.js";
import { addCount, type Meter } from "../../ingest/meter.js";
import type { DamageLog } from "../../store/files/damage.js";
import type { Follower } from "../../store/journal/dead-letters.js";
import type { Journal } from "../../store/journal/journal.js";
import type { ClockJump } from "./clock-watch.js";
import { createJournalLag, type JournalLag } from "./journal-lag.js";
import type { Logger } from "./log.js";
import { type BackupFigures, type BuildFacts, metricsText, type RemovalFigures } from "./metrics.js";
import { createHistogram } from "./prometheus.js";
import { createWindowPair } from "./window-pair.js";

/** The state of the running service for /readyz and /metrics. */
export interface Status {
  /** Includes a shard's journal from now on, until the returned function is called. */
  follow(journal: JournalProgress): () => void;
  /** Null while uplinks are taken; otherwise the reason why not. */
  notReady(): string | null;
  /** Degraded parts, by name. */
  degraded(): Readonly<Record<string, string>>;
  /** Notes a part's trouble, or that it has none (null). `of`: which of several of that part. */
  note(part: string, trouble: string | null, of?: string): void;
  observeWrite(seconds: number): void;
  /** Notes when a certificate of the service expires, milliseconds since 1970. */
  certificateEnds(certificate: string, end: number): void;
  /** Notes what has become of the backups that the service makes of itself. */
  backups(figures: BackupFigures): void;
  /** Called when the wall clock was set. */
  clockJumped(jump: ClockJump): void;
  /** Must be called each second: moves the sliding windows on. */
  tick(): void;
  figures(): Figures;
  /** Prometheus text. */
  metrics(): string;
}

/** The figures of this process in the overview. */
interface Figures {
  /** Records on disk whose points cannot be read yet, and for how long the oldest has been there. */
  readonly lag: { readonly messages: number; readonly seconds: number };
  /** Commits of the last one to two minutes; 0 if there were none. */
  readonly commit: { readonly p50Ms: number; readonly p99Ms: number };
  /** `isFull`: nothing can be kept. */
  readonly disk: { readonly freeBytes: number; readonly isFull: boolean };
  /** Over the last one to two minutes. */
  readonly eventLoopDelayP99Ms: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** Degraded parts. Parts that open before there is a status note their troubles here. */
export interface Troubles {
  readonly note: Status["note"];
  all(): Iterable<readonly [part: string, trouble: string]>;
}

export function createTroubles(): Troubles {
  /** By part, and by which of that part; what was noted last is the last. No map is empty. */
  const troubles = new Map<string, Map<string, string>>();
  return {
    note: (part, trouble, of = "") => {
      const known = troubles.get(part) ?? new Map<string, string>();
      known.delete(of);
      if (trouble !== null) known.set(of, trouble);
      if (known.size === 0) troubles.delete(part);
      else troubles.set(part, known);
    },
    all: () => [...troubles].map(([part, known]) => [part, [...known.values()].at(-1) ?? ""] as const),
  };
}

/** A journal, with how far its consumers have come. */
interface JournalProgress {
  readonly journal: Journal;
  readonly settledID: number;
  readonly alertsID: number;
}

interface StatusSources {
  readonly troubles: Troubles;
  readonly meter: Meter;
  readonly live: Pick<LiveFeed, "counts">;
  readonly damage: Pick<DamageLog, "counts">;
  readonly removals: () => RemovalFigures;
  /** Counts of dead letters (messages that crashed the service), by follower of the journal. */
  readonly setAside: () => ReadonlyMap<Follower, number>;
  /** Bytes held for MQTT clients. */
  readonly heldBytes: () => number;
  readonly stopped: () => string | null;
  readonly closing: () => boolean;
  readonly build: BuildFacts;
  /** The folder whose disk is checked. */
  readonly dataDir: string;
  readonly freeBytesMin: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly log: Pick<Logger, "dropped">;
  /** How far the wall clock is ahead of the time by which retention removes. */
  readonly retentionLagMs: () => number;
}

const windowMs = 60_000;
/** Longer commits count as of an hour. */
const commitMicrosMax = 3_600_000_000;
const nsPerMs = 1e6;

const commitBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1];
const writeBuckets = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

export function createStatus(sources: StatusSources): Status {
  const { meter } = sources;
  const lags = new Map<JournalProgress, JournalLag>();
  const certificateEnds = new Map<string, number>();
  const clockJumps = new Map<ClockJump, number>();
  let backups: BackupFigures | null = null;
  const commits = createHistogram(commitBuckets);
  const writes = createHistogram(writeBuckets);
  const loopDelay = createWindowPair(watchedLoopDelay, windowMs, sources.monotonic);
  const recentCommits = createWindowPair(
    () => createRecordable({ lowest: 1, highest: commitMicrosMax, figures: 2 }),
    windowMs,
    sources.monotonic,
  );
  function follow(one: JournalProgress): () => void {
    const lag = createJournalLag({
      committedID: () => one.journal.committedID,
      settledID: () => one.settledID,
      monotonic: sources.monotonic,
    });
    one.journal.onCommitTime((seconds) => {
      commits.observe(seconds);
      const micros = Math.min(commitMicrosMax, Math.max(1, Math.round(seconds * 1e6)));
      for (const window of recentCommits.both) window.record(micros);
      lag.committed();
    });
    lags.set(one, lag);
    return () => void lags.delete(one);
  }

  const lagSeconds = (): number => Math.max(0, ...[...lags.values()].map(({ seconds }) => seconds));

  /** Records that a consumer, which has come to `reached`, has not settled. */
  const behind = (reached: (one: JournalProgress) => number): number =>
    sum(lags.keys(), (one) => Math.max(0, one.journal.committedID - reached(one)));
  const lagMessages = (): number => behind((one) => one.settledID);

  const notReady = (): string | null => (sources.closing() ? "shutting down" : sources.stopped());

  function degraded(): Record<string, string> {
    const damaged = [...sources.damage.counts].map(([part, { findings, lostBytes }]) => {
      const places = findings === 1 ? "1 damaged place" : `${findings} damaged places`;
      return [`${part} damage`, `${places}, ${lostBytes} bytes given up: see the log`];
    });
    return Object.fromEntries([...sources.troubles.all(), ...damaged]);
  }

  function metrics(): string {
    return metricsText({
      meter,
      journal: {
        pendingBytes: sum(lags.keys(), ({ journal }) => journal.pendingBytes),
        segments: sum(lags.keys(), ({ journal }) => journal.segments.length),
      },
      live: sources.live.counts(),
      damage: sources.damage.counts,
      setAside: sources.setAside(),
      heldBytes: sources.heldBytes(),
      lag: {
        series: lagMessages(),
        alerts: behind((one) => one.alertsID),
        seriesSeconds: lagSeconds(),
      },
      removals: sources.removals(),
      backups,
      loopDelay: loopDelay.longer,
      clockJumps,
      build: sources.build,
      notReady: notReady(),
      degraded: degraded(),
      certificateEnds,
      freeDiskBytes: freeBytes(sources.dataDir),
      residentBytes: process.memoryUsage.rss(),
      logLinesDropped: sources.log.dropped ?? 0,
      retentionLagSeconds: sources.retentionLagMs() / 1000,
      commits,
      writes,
    });
  }

  function figures(): Figures {
    const freeDiskBytes = freeBytes(sources.dataDir);
    const recent = recentCommits.longer;
    const commitMs = (percentile: number) => (recent.count === 0 ? 0 : recent.percentile(percentile) / 1000);
    return {
      lag: { messages: lagMessages(), seconds: lagSeconds() },
      commit: { p50Ms: commitMs(50), p99Ms: commitMs(99) },
      disk: {
        freeBytes: freeDiskBytes,
        isFull:
          [...lags.keys()].some(({ journal }) => journal.stopped !== null) ||
          freeDiskBytes < sources.freeBytesMin,
      },
      eventLoopDelayP99Ms: loopDelay.longer.percentile(99) / nsPerMs,
      startedAt: sources.startedAt,
    };
  }

  return {
    follow,
    notReady,
    degraded,
    note: sources.troubles.note,
    clockJumped: (jump) => addCount(clockJumps, jump),
    certificateEnds: (certificate, end) => {
      certificateEnds.set(certificate, end);
    },
    backups: (figures) => {
      backups = figures;
    },
    observeWrite: (seconds) => writes.observe(seconds),
    tick: () => {
      loopDelay.turn();
      recentCommits.turn();
      meter.rates.tick();
    },
    figures,
    metrics,
  };
}

function watchedLoopDelay(): IntervalHistogram {
  const watched = monitorEventLoopDelay({ resolution: 1 });
  watched.enable();
  return watched;
}

function sum<T>(all: Iterable<T>, of: (one: T) => number): number {
  let total = 0;
  for (const one of all) total += of(one);
  return total;
}

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
