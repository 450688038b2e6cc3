import { type AlertsConsumer, startAlertsConsumer } from "../../ingest/consumers/alerts.js";
import {
  type SeriesConsumer,
  type SeriesConsumerOptions,
  startSeriesConsumer,
} from "../../ingest/consumers/series.js";
import type { Presence } from "../../ingest/presence.js";
import { createWatchPlans } from "../../ingest/watch/plan.js";
import { compileFormula } from "../../query/formula.js";
import type { Journal } from "../../store/journal.js";
import type { SeriesStore } from "../../store/series.js";
import type { Config } from "../config.js";
import type { Status } from "../status.js";
import type { Base } from "./base.js";
import { timed } from "./series.js";

/** What reads the journal: points into the series store, and what messages mean into alerts, places and counters. */
export interface Consumers {
  readonly series: SeriesConsumer;
  readonly alerts: AlertsConsumer;
  close(): Promise<void>;
}

export interface ConsumersDeps extends Required<Pick<SeriesConsumerOptions, "rules" | "onStored">> {
  readonly config: Config;
  readonly base: Base;
  readonly journal: Journal;
  readonly series: SeriesStore;
  readonly presence: Presence;
  readonly status: Status;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when a consumer cannot go on. */
  readonly fatal: (error: Error) => void;
}

/** InfluxDB syncs its log at each write and takes two at once; the embedded store takes one at a time. */
const influxWrites = { lanes: 2, lingerMs: 50 } as const;
const embeddedWrites = { lanes: 1, lingerMs: 5 } as const;

export async function startConsumers(deps: ConsumersDeps): Promise<Consumers> {
  const { config, base, journal, presence, status, rules, now, fatal } = deps;
  const { db, directory, meter } = base;
  const alerts = await startAlertsConsumer({
    ...{ journal, directory, db, meter, rules, now, node: config.nodeNumber },
    offlineGraceMs: config.offlineAlertSeconds * 1000,
    plans: createWatchPlans(db, compileCondition),
    onCarried: (device, carrier, at) => presence.carried(device, carrier, Math.floor(at / 1000)),
    onTrouble: (error) => status.note("alerts", error?.message ?? null),
    onFailure: fatal,
  });
  base.follow(alerts.forget);
  const series = await startSeriesConsumer({
    ...{ journal, directory, db, meter, rules, now, watcher: alerts },
    ...(config.influx === null ? embeddedWrites : influxWrites),
    series: timed(deps.series, status),
    onStored: deps.onStored,
    onTrouble: (error) => status.note("series", error?.message ?? null),
    onFailure: fatal,
  });
  return {
    ...{ series, alerts },
    close: async () => {
      await series.close();
      await alerts.close();
    },
  };
}

/** The data points of a saved condition may have gone since. */
function compileCondition(text: string) {
  const formula = compileFormula(text, new Set(), { allowUnknown: true });
  return { variables: formula.variables, evaluate: formula.row() };
}

/** Writes the points of kept messages again, from the segment that holds `sinceMs` on. */
export async function resettle(
  journal: Journal,
  consumer: SeriesConsumer | undefined,
  sinceMs: number,
): Promise<{ messages: number; points: number }> {
  if (consumer === undefined) return { messages: 0, points: 0 };
  // The last segment begun before that time holds its first record.
  const from = journal.segments.findLast((segment) => segment.createdAt <= sinceMs) ?? journal.segments[0];
  return consumer.resettle(from === undefined ? 0 : from.firstID - 1);
}
