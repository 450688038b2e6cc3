/** The metrics of /metrics: names, help texts and the source of each value, in the order of the answer. */
import type { IntervalHistogram } from "node:perf_hooks";
import { reasons } from "../../ingest/decode/reasons.js";
import type { LiveFeed } from "../../ingest/live/feed.js";
import {
  brokerEnds,
  brokerRefusals,
  dropReasons,
  endReasons,
  handshakeFailures,
  httpEndReasons,
  type Meter,
  messageRefusals,
  notificationOutcomes,
  policyRefusals,
} from "../../ingest/meter.js";
import { type DamageLog, damageParts } from "../../store/files/damage.js";
import { type Follower, followers } from "../../store/journal/dead-letters.js";
import { contactTypes } from "../../store/metadata/notifications/contact-points.js";
import { type ClockJump, clockJumps } from "./clock-watch.js";
import { type Histogram, type Labels, samples } from "./prometheus.js";

/** Everything that the metrics are read from, at one instant. */
interface Readings {
  readonly meter: Meter;
  /** The sums of all shards. */
  readonly journal: { readonly pendingBytes: number; readonly segments: number };
  readonly live: ReturnType<LiveFeed["counts"]>;
  readonly damage: DamageLog["counts"];
  /** Dead letters, by follower of the journal. */
  readonly setAside: ReadonlyMap<Follower, number>;
  /** Bytes held for MQTT clients. */
  readonly heldBytes: number;
  /** Committed records that the consumers have not settled, and since when the series consumer's oldest is on disk. */
  readonly lag: { readonly series: number; readonly alerts: number; readonly seriesSeconds: number };
  readonly removals: RemovalFigures;
  readonly backups: BackupFigures | null;
  readonly loopDelay: Pick<IntervalHistogram, "percentile">;
  readonly clockJumps: ReadonlyMap<ClockJump, number>;
  readonly build: BuildFacts;
  /** Why uplinks are not taken, or null. */
  readonly notReady: string | null;
  /** Degraded parts, by name. */
  readonly degraded: Readonly<Record<string, string>>;
  /** Milliseconds since 1970, by certificate. */
  readonly certificateEnds: ReadonlyMap<string, number>;
  readonly freeDiskBytes: number;
  readonly residentBytes: number;
  readonly logLinesDropped: number;
  readonly retentionLagSeconds: number;
  readonly commits: Histogram;
  readonly writes: Histogram;
}

/** What this program is. */
export interface BuildFacts {
  readonly version: string;
  readonly commit: string | null;
  readonly engine: string;
  /** Release of the time zone rules; null: not known. */
  readonly timezones: string | null;
}

const nsPerSecond = 1e9;

/** Progress of removing the points of deleted devices and data points. */
export interface RemovalFigures {
  readonly left: number;
  /** In this run. */
  readonly done: number;
}

/** The service's own backups; null if it makes none. */
export interface BackupFigures {
  /** When the newest complete one was complete, milliseconds since 1970; null without one. */
  readonly completedAt: number | null;
  /** In this run. */
  readonly completed: number;
  readonly failed: number;
}

type Samples = readonly (readonly [Labels, number])[];
type Metric = (readings: Readings) => string[];

const metrics: readonly Metric[] = [
  gauge("tidemark_build_info", "Which program this is.", ({ build }) => [
    [
      {
        version: build.version,
        commit: build.commit ?? "",
        engine: build.engine,
        timezones: build.timezones ?? "unknown",
      },
      1,
    ],
  ]),
  gauge("tidemark_ready", "1 while uplinks are taken.", ({ notReady }) => one(notReady === null ? 1 : 0)),
  gauge("tidemark_degraded", "Parts that /readyz names as degraded.", ({ degraded }) =>
    Object.keys(degraded).map((part) => [{ part }, 1] as const),
  ),
  gauge("tidemark_disk_free_bytes", "Free on the disk of DATA_DIR.", ({ freeDiskBytes }) =>
    one(freeDiskBytes),
  ),
  gauge(
    "tidemark_certificate_end_seconds",
    "When a certificate of the service expires, seconds since 1970.",
    ({ certificateEnds }) =>
      [...certificateEnds].map(([certificate, end]) => [{ certificate }, end / 1000] as const),
  ),
  counter("tidemark_messages_total", "Uplinks taken in.", ({ meter }) => one(meter.messages)),
  counter("tidemark_message_bytes_total", "Payload bytes taken in.", ({ meter }) => one(meter.messageBytes)),
  counter("tidemark_redelivered_total", "Uplinks recognised as kept already.", ({ meter }) =>
    one(meter.redelivered),
  ),
  counter("tidemark_points_total", "Points that can be read.", ({ meter }) => one(meter.pointsStored)),
  counter("tidemark_refused_total", "Values refused, by reason.", ({ meter }) =>
    by("reason", reasons, meter.refused),
  ),
  counter(
    "tidemark_records_failed_total",
    "Records of the journal that could not be worked on, by who follows it.",
    ({ meter }) => by("follower", followers, meter.recordsFailed),
  ),
  gauge(
    "tidemark_set_aside_messages",
    "Messages that ended starts of the service and are set aside, by who follows the journal.",
    ({ setAside }) => by("follower", followers, setAside),
  ),
  counter("tidemark_connections_ended_total", "Connections ended, by reason.", ({ meter }) =>
    by("reason", endReasons, meter.ended),
  ),
  counter("tidemark_deliveries_dropped_total", "Deliveries given up.", ({ meter }) =>
    by("reason", dropReasons, meter.dropped),
  ),
  gauge(
    "tidemark_session_held_bytes",
    "Bytes that are held for clients: messages that wait or are retained, wills, subscriptions.",
    ({ heldBytes }) => one(heldBytes),
  ),
  counter(
    "tidemark_messages_refused_total",
    "Messages of clients that are not kept, by reason.",
    ({ meter }) => by("reason", messageRefusals, meter.messagesRefused),
  ),
  counter(
    "tidemark_policy_refused_total",
    "Messages, subscriptions and deliveries that a policy has refused.",
    ({ meter }) => by("action", policyRefusals, meter.policyRefused),
  ),
  counter(
    "tidemark_alert_transitions_counted_total",
    "Beginnings and ends of alerts that are only counted: beyond 10 of one cause, or 500, in one message.",
    ({ meter }) => one(meter.alertEventsCounted),
  ),
  counter(
    "tidemark_alert_details_left_out_total",
    "Alerts without the values that they were told by: beyond 2 MiB of one message.",
    ({ meter }) => one(meter.detailsLeftOut),
  ),
  counter(
    "tidemark_notifications_total",
    "Attempts to tell of alerts, by type of the contact point and outcome.",
    ({ meter }) =>
      contactTypes.flatMap((type) =>
        notificationOutcomes.map(
          (outcome) => [{ type, outcome }, meter.notifications.get(`${type} ${outcome}`) ?? 0] as const,
        ),
      ),
  ),
  gauge("tidemark_notifications_waiting", "Messages about alerts that are not delivered yet.", ({ meter }) =>
    one(meter.notificationsWaiting),
  ),
  gauge(
    "tidemark_contact_points_failing",
    "Contact points that took no message the last time.",
    ({ meter }) => one(meter.contactPointsFailing),
  ),
  counter(
    "tidemark_slowed_down_total",
    "Messages that waited for the limit of their device or tenant.",
    ({ meter }) => one(meter.slowedDown),
  ),
  counter(
    "tidemark_denials_unrecorded_total",
    "Refused connections left out of the connect log.",
    ({ meter }) => one(meter.denialsUnrecorded),
  ),
  counter("tidemark_handshakes_failed_total", "Sockets that never came to MQTT, by reason.", ({ meter }) =>
    by("reason", handshakeFailures, meter.handshakesFailed),
  ),
  gauge("tidemark_handshakes_pending", "TLS and WebSocket handshakes.", ({ meter }) =>
    one(meter.handshakesPending),
  ),
  counter("tidemark_broker_messages_total", "Messages that the external broker has sent.", ({ meter }) =>
    one(meter.brokerMessages),
  ),
  counter(
    "tidemark_broker_refused_total",
    "Messages of the external broker that are not taken, by reason.",
    ({ meter }) => by("reason", brokerRefusals, meter.brokerRefused),
  ),
  counter(
    "tidemark_broker_connections_ended_total",
    "Connections to the external broker that ended, by reason.",
    ({ meter }) => by("reason", brokerEnds, meter.brokerEnded),
  ),
  gauge("tidemark_broker_connections", "Connections to the external broker.", ({ meter }) =>
    one(meter.brokerConnections),
  ),
  gauge("tidemark_connections", "Open connections.", ({ meter }) => one(meter.connections)),
  gauge(
    "tidemark_connections_relayed",
    "Connections of MQTT that another node of the cluster has, passed on to it.",
    ({ meter }) => one(meter.relayed),
  ),
  gauge("tidemark_http_connections", "Open HTTP connections.", ({ meter }) => one(meter.httpConnections)),
  counter(
    "tidemark_http_connections_ended_total",
    "HTTP connections that the service has ended, by reason.",
    ({ meter }) => by("reason", httpEndReasons, meter.httpEnded),
  ),
  gauge("tidemark_answer_bytes", "What answers that are not read yet hold.", ({ meter }) =>
    one(meter.answerBytes),
  ),
  counter("tidemark_answers_refused_total", "Answers for which there was no room.", ({ meter }) =>
    one(meter.answersRefused),
  ),
  counter("tidemark_damage_total", "Damaged places found on disk.", ({ damage }) =>
    damageBy(damage, "findings"),
  ),
  counter("tidemark_damage_lost_bytes_total", "Bytes given up because of them.", ({ damage }) =>
    damageBy(damage, "lostBytes"),
  ),
  gauge("tidemark_live_feeds", "Open live feeds.", ({ live }) => one(live.listeners)),
  gauge("tidemark_live_queued_events", "Events that wait for live feeds.", ({ live }) => one(live.queued)),
  gauge("tidemark_live_held_bytes", "Held for live feeds, shared by them.", ({ live }) => one(live.bytes)),
  counter("tidemark_live_feeds_let_go_total", "Live feeds ended because they fell behind.", ({ live }) =>
    one(live.letGo),
  ),
  gauge("tidemark_journal_pending_bytes", "Appended, not committed.", ({ journal }) =>
    one(journal.pendingBytes),
  ),
  gauge("tidemark_journal_segments", "Segments kept.", ({ journal }) => one(journal.segments)),
  gauge("tidemark_journal_lag_messages", "Records a consumer has not settled.", ({ lag }) => [
    [{ consumer: "series" }, lag.series],
    [{ consumer: "alerts" }, lag.alerts],
  ]),
  gauge("tidemark_journal_lag_seconds", "How long its oldest record has been on disk.", ({ lag }) => [
    [{ consumer: "series" }, lag.seriesSeconds],
  ]),
  gauge(
    "tidemark_removals_left",
    "Deleted devices and data points whose points are still to be removed.",
    ({ removals }) => one(removals.left),
  ),
  counter(
    "tidemark_removals_total",
    "Deleted devices and data points whose points were removed.",
    ({ removals }) => one(removals.done),
  ),
  gauge(
    "tidemark_backup_completed_seconds",
    "When the newest complete backup in BACKUP_DIR was complete, seconds since 1970.",
    ({ backups }) =>
      backups === null || backups.completedAt === null ? [] : one(backups.completedAt / 1000),
  ),
  counter(
    "tidemark_backups_total",
    "Backups that the service has made of itself, by outcome.",
    ({ backups }) =>
      backups === null
        ? []
        : [
            [{ outcome: "completed" }, backups.completed],
            [{ outcome: "failed" }, backups.failed],
          ],
  ),
  summary("tidemark_event_loop_delay_seconds", "Of the last one to two minutes.", ({ loopDelay }) =>
    ["0.5", "0.99", "0.999"].map(
      (quantile) => [{ quantile }, loopDelay.percentile(100 * Number(quantile)) / nsPerSecond] as const,
    ),
  ),
  counter("tidemark_clock_jumps_total", "Times that the wall clock was set, by direction.", (readings) =>
    by("direction", clockJumps, readings.clockJumps),
  ),
  gauge(
    "tidemark_retention_lag_seconds",
    "How far the wall clock is ahead of the time by which retention removes.",
    ({ retentionLagSeconds }) => one(retentionLagSeconds),
  ),
  counter("tidemark_log_lines_dropped_total", "Lines of the log that nobody could take.", (readings) =>
    one(readings.logLinesDropped),
  ),
  gauge("process_resident_memory_bytes", "Resident memory.", ({ residentBytes }) => one(residentBytes)),
  ({ commits }) => commits.lines("tidemark_commit_seconds", "Time of a journal commit."),
  ({ writes }) => writes.lines("tidemark_series_write_seconds", "Time of a series write."),
];

/** Prometheus text of all metrics. */
export function metricsText(readings: Readings): string {
  return `${metrics.flatMap((metric) => metric(readings)).join("\n")}\n`;
}

function counter(name: string, help: string, read: (readings: Readings) => Samples): Metric {
  return (readings) => samples("counter", name, help, read(readings));
}

function gauge(name: string, help: string, read: (readings: Readings) => Samples): Metric {
  return (readings) => samples("gauge", name, help, read(readings));
}

/** Quantiles of a while that moves on: without a sum and a count, which would have to grow for ever. */
function summary(name: string, help: string, read: (readings: Readings) => Samples): Metric {
  return (readings) => samples("summary", name, help, read(readings));
}

function one(value: number): Samples {
  return [[{}, value]];
}

/**
 * Counts by a label of which all values are known: each is there from the start, because to Prometheus a counter that
 * begins at 1 has not increased.
 */
function by<Key extends string>(
  label: string,
  keys: readonly Key[],
  counts: ReadonlyMap<Key, number>,
): Samples {
  return keys.map((key) => [{ [label]: key }, counts.get(key) ?? 0] as const);
}

function damageBy(counts: DamageLog["counts"], of: "findings" | "lostBytes"): Samples {
  return damageParts.map((part) => [{ part }, counts.get(part)?.[of] ?? 0] as const);
}
