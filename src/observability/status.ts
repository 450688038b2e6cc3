import { statfsSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { LiveFeed } from "../../ingest/live/feed.js";
import { count, type Meter } from "../../ingest/meter.js";
import type { DamageLog } from "../../store/files/damage.js";
import type { Journal } from "../../store/journal/journal.js";
import type { ClockJump } from "./clock-watch.js";
import { type BuildFacts, metricsText, type RemovalFigures } from "./metrics.js";
import { createHistogram } from "./prometheus.js";

/** The state of the running service for /readyz and /metrics. */
export interface Status {
  /** Null while uplinks are taken; otherwise the reason why not. */
  notReady(): string | null;
  /** Degraded parts, by name. */
  degraded(): Readonly<Record<string, string>>;
  /** Notes a part's trouble, or that it has none (null). */
  note(part: string, trouble: string | null): void;
  observeWrite(seconds: number): void;
  /** Notes when a certificate of the service expires, milliseconds since 1970. */
  certificateEnds(certificate: string, end: number): void;
  /** Called when the wall clock was set. */
  clockJumped(jump: ClockJump): void;
  /** Prometheus text. */
  metrics(): string;
}

/** Degraded parts. Parts that open before there is a status note their troubles here. */
export interface Troubles {
  readonly note: Status["note"];
  all(): Iterable<readonly [part: string, trouble: string]>;
}

export function createTroubles(): Troubles {
  const troubles = new Map<string, string>();
  return {
    note: (part, trouble) => {
      if (trouble === null) troubles.delete(part);
      else troubles.set(part, trouble);
    },
    all: () => troubles,
  };
}

interface StatusSources {
  readonly troubles: Troubles;
  readonly journal: Journal;
  readonly meter: Meter;
  readonly live: Pick<LiveFeed, "counts">;
  readonly damage: Pick<DamageLog, "counts">;
  readonly settledID: () => number;
  readonly alertsID: () => number;
  readonly removals: () => RemovalFigures;
  /** Messages that ended the service and are set aside, by follower of the journal. */
  readonly setAside: () => ReadonlyMap<string, number>;
  /** Bytes held for MQTT clients. */
  readonly heldBytes: () => number;
  readonly stopped: () => string | null;
  readonly closing: () => boolean;
  readonly build: BuildFacts;
  /** Whose disk is looked at. */
  readonly dataDir: string;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
}

const commitBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1];
const writeBuckets = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

export function createStatus(sources: StatusSources): Status {
  const { journal, meter } = sources;
  const certificateEnds = new Map<string, number>();
  const clockJumps = new Map<ClockJump, number>();
  const commits = createHistogram(commitBuckets);
  const writes = createHistogram(writeBuckets);
  const loopDelay = monitorEventLoopDelay({ resolution: 1 });
  loopDelay.enable();
  journal.onCommitTime((seconds) => commits.observe(seconds));
  /** Since when the series consumer has been behind, monotonic milliseconds; null if it is not. */
  let behindSince: number | null = null;

  function lagSeconds(lag: number): number {
    if (lag === 0) behindSince = null;
    else behindSince ??= sources.monotonic();
    return behindSince === null ? 0 : (sources.monotonic() - behindSince) / 1000;
  }

  const notReady = (): string | null => (sources.closing() ? "shutting down" : sources.stopped());

  function degraded(): Record<string, string> {
    const damaged = [...sources.damage.counts].map(([part, { findings, lostBytes }]) => {
      const places = findings === 1 ? "1 damaged place" : `${findings} damaged places`;
      return [`${part} damage`, `${places}, ${lostBytes} bytes given up: see the log`];
    });
    return Object.fromEntries([...sources.troubles.all(), ...damaged]);
  }

  function metrics(): string {
    const lag = Math.max(0, journal.committedID - sources.settledID());
    const text = metricsText({
      meter,
      journal,
      live: sources.live.counts(),
      damage: sources.damage.counts,
      setAside: sources.setAside(),
      heldBytes: sources.heldBytes(),
      lag: {
        series: lag,
        alerts: Math.max(0, journal.committedID - sources.alertsID()),
        seriesSeconds: lagSeconds(lag),
      },
      removals: sources.removals(),
      loopDelay,
      clockJumps,
      build: sources.build,
      notReady: notReady(),
      degraded: degraded(),
      certificateEnds,
      freeDiskBytes: freeBytes(sources.dataDir),
      residentBytes: process.memoryUsage.rss(),
      commits,
      writes,
    });
    loopDelay.reset();
    return text;
  }

  return {
    notReady,
    degraded,
    note: sources.troubles.note,
    clockJumped: (jump) => count(clockJumps, jump),
    certificateEnds: (certificate, end) => {
      certificateEnds.set(certificate, end);
    },
    observeWrite: (seconds) => writes.observe(seconds),
    metrics,
  };
}

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
