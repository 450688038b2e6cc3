import { monitorEventLoopDelay } from "node:perf_hooks";
import type { LiveFeed } from "../../ingest/live/feed.js";
import { count, type Meter } from "../../ingest/meter.js";
import type { DamageLog } from "../../store/files/damage.js";
import type { Journal } from "../../store/journal/journal.js";
import type { RemovalCounts } from "../background/removals.js";
import type { ClockJump } from "../observability/clock-watch.js";
import { createHistogram, type Labels, samples } from "../observability/prometheus.js";

/** What /readyz and /metrics ask of the running service. */
export interface Status {
  /** Null while uplinks are taken; otherwise why not. */
  notReady(): string | null;
  /** What works less than it should, by name. */
  degraded(): Readonly<Record<string, string>>;
  /** Notes what is wrong with a part, or that nothing is (null). */
  note(part: string, trouble: string | null): void;
  observeWrite(seconds: number): void;
  /** The wall clock was set. */
  clockJumped(jump: ClockJump): void;
  /** Prometheus text. */
  metrics(): string;
}

/** What works less than it should: parts that open before there is a status note it here. */
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
  readonly removals: () => RemovalCounts;
  /** Messages that ended the service and are set aside, by follower of the journal. */
  readonly setAside: () => ReadonlyMap<string, number>;
  /** Bytes that are held for clients of MQTT. */
  readonly heldBytes: () => number;
  readonly stopped: () => string | null;
  readonly closing: () => boolean;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

const commitBounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1];
const writeBounds = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];
const nsPerSecond = 1e9;

export function createStatus(sources: StatusSources): Status {
  const { journal, meter } = sources;
  const clockJumps = new Map<ClockJump, number>();
  const commits = createHistogram(commitBounds);
  const writes = createHistogram(writeBounds);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  journal.onCommitTime((seconds) => commits.observe(seconds));
  /** Since when the series consumer has been behind, monotonic milliseconds; null when it is not. */
  let behindSince: number | null = null;

  function lagSeconds(lag: number): number {
    if (lag === 0) behindSince = null;
    else behindSince ??= sources.monotonic();
    return behindSince === null ? 0 : (sources.monotonic() - behindSince) / 1000;
  }

  function metrics(): string {
    const lag = Math.max(0, journal.committedID - sources.settledID());
    const { listeners, queued, bytes: liveBytes, letGo } = sources.live.counts();
    const consumer: Labels = { consumer: "series" };
    const alertsLag = Math.max(0, journal.committedID - sources.alertsID());
    const one = (value: number) => [[{}, value]] as const;
    const damaged = (of: "findings" | "lostBytes") =>
      [...sources.damage.counts].map(([part, count]) => [{ part }, count[of]] as const);
    const by = (label: string, counts: ReadonlyMap<string, number>) =>
      [...counts].map(([key, value]) => [{ [label]: key }, value] as const);
    const text = [
      samples("counter", "tidemark_messages_total", "Uplinks taken in.", one(meter.messages)),
      samples("counter", "tidemark_message_bytes_total", "Payload bytes taken in.", one(meter.messageBytes)),
      samples(
        "counter",
        "tidemark_redelivered_total",
        "Uplinks recognised as kept already.",
        one(meter.redelivered),
      ),
      samples("counter", "tidemark_points_total", "Points that can be read.", one(meter.pointsStored)),
      samples("counter", "tidemark_refused_total", "Values refused, by reason.", by("reason", meter.refused)),
      samples(
        "counter",
        "tidemark_records_failed_total",
        "Records of the journal that could not be worked on, by who follows it.",
        by("follower", meter.recordsFailed),
      ),
      samples(
        "gauge",
        "tidemark_set_aside_messages",
        "Messages that ended starts of the service and are set aside, by who follows the journal.",
        by("follower", sources.setAside()),
      ),
      samples(
        "counter",
        "tidemark_connections_ended_total",
        "Connections ended, by reason.",
        by("reason", meter.ended),
      ),
      samples(
        "counter",
        "tidemark_deliveries_dropped_total",
        "Deliveries given up.",
        by("reason", meter.dropped),
      ),
      samples(
        "gauge",
        "tidemark_session_held_bytes",
        "Bytes that are held for clients: messages that wait or are retained, wills, subscriptions.",
        one(sources.heldBytes()),
      ),
      samples(
        "counter",
        "tidemark_messages_refused_total",
        "Messages of clients that are not kept, by reason.",
        by("reason", meter.messagesRefused),
      ),
      samples(
        "counter",
        "tidemark_policy_refused_total",
        "Messages, subscriptions and deliveries that a policy has refused.",
        by("action", meter.policyRefused),
      ),
      samples(
        "counter",
        "tidemark_alert_transitions_counted_total",
        "Beginnings and ends of alerts that are only counted: beyond 10 of one cause, or 500, in one message.",
        one(meter.transitionsCounted),
      ),
      samples(
        "counter",
        "tidemark_alert_details_left_out_total",
        "Alerts without the values that they were told by: beyond 2 MiB of one message.",
        one(meter.detailsLeftOut),
      ),
      samples(
        "counter",
        "tidemark_slowed_down_total",
        "Messages that waited for the limit of their device or tenant.",
        one(meter.slowedDown),
      ),
      samples(
        "counter",
        "tidemark_denials_unrecorded_total",
        "Refused connections left out of the connect log.",
        one(meter.denialsUnrecorded),
      ),
      samples(
        "counter",
        "tidemark_handshakes_failed_total",
        "Sockets that never came to MQTT, by reason.",
        by("reason", meter.handshakesFailed),
      ),
      samples(
        "gauge",
        "tidemark_handshakes_pending",
        "TLS and WebSocket handshakes.",
        one(meter.handshakesPending),
      ),
      samples(
        "counter",
        "tidemark_broker_messages_total",
        "Messages that the external broker has sent.",
        one(meter.brokerMessages),
      ),
      samples(
        "counter",
        "tidemark_broker_refused_total",
        "Messages of the external broker that are not taken, by reason.",
        by("reason", meter.brokerRefused),
      ),
      samples(
        "counter",
        "tidemark_broker_connections_ended_total",
        "Connections to the external broker that ended, by reason.",
        by("reason", meter.brokerEnded),
      ),
      samples(
        "gauge",
        "tidemark_broker_connections",
        "Whether the external broker is there.",
        one(meter.brokerConnections),
      ),
      samples("gauge", "tidemark_connections", "Open connections.", one(meter.connections)),
      samples("gauge", "tidemark_http_connections", "Open HTTP connections.", one(meter.httpConnections)),
      samples(
        "counter",
        "tidemark_http_connections_ended_total",
        "HTTP connections that the service has ended, by reason.",
        by("reason", meter.httpEnded),
      ),
      samples(
        "gauge",
        "tidemark_answer_bytes",
        "What answers that are not read yet hold.",
        one(meter.answerBytes),
      ),
      samples(
        "counter",
        "tidemark_answers_refused_total",
        "Answers for which there was no room.",
        one(meter.answersRefused),
      ),
      samples("counter", "tidemark_damage_total", "Damaged places found on disk.", damaged("findings")),
      samples(
        "counter",
        "tidemark_damage_lost_bytes_total",
        "Bytes given up because of them.",
        damaged("lostBytes"),
      ),
      samples("gauge", "tidemark_live_feeds", "Open live feeds.", one(listeners)),
      samples("gauge", "tidemark_live_queued_events", "Events that wait for live feeds.", one(queued)),
      samples("gauge", "tidemark_live_held_bytes", "Held for live feeds, shared by them.", one(liveBytes)),
      samples(
        "counter",
        "tidemark_live_feeds_let_go_total",
        "Live feeds ended because they fell behind.",
        one(letGo),
      ),
      samples(
        "gauge",
        "tidemark_journal_pending_bytes",
        "Appended, not committed.",
        one(journal.pendingBytes),
      ),
      samples("gauge", "tidemark_journal_segments", "Segments kept.", one(journal.segments.length)),
      samples("gauge", "tidemark_journal_lag_messages", "Records a consumer has not settled.", [
        [consumer, lag],
        [{ consumer: "alerts" }, alertsLag],
      ]),
      samples("gauge", "tidemark_journal_lag_seconds", "How long it has been behind.", [
        [consumer, lagSeconds(lag)],
      ]),
      samples(
        "gauge",
        "tidemark_removals_left",
        "Deleted devices and data points whose points are still to be removed.",
        one(sources.removals().left),
      ),
      samples(
        "counter",
        "tidemark_removals_total",
        "Deleted devices and data points whose points were removed.",
        one(sources.removals().done),
      ),
      samples("gauge", "tidemark_event_loop_delay_seconds", "Since the last reading.", [
        [{ quantile: "0.5" }, delay.percentile(50) / nsPerSecond],
        [{ quantile: "0.99" }, delay.percentile(99) / nsPerSecond],
        [{ quantile: "0.999" }, delay.percentile(99.9) / nsPerSecond],
      ]),
      samples(
        "counter",
        "tidemark_clock_jumps_total",
        "Times that the wall clock was set, by direction.",
        by("direction", clockJumps),
      ),
      samples("gauge", "process_resident_memory_bytes", "Resident memory.", one(process.memoryUsage.rss())),
      commits.lines("tidemark_commit_seconds", "Time of a journal commit."),
      writes.lines("tidemark_series_write_seconds", "Time of a series write."),
    ];
    delay.reset();
    return `${text.flat().join("\n")}\n`;
  }

  return {
    notReady: () => (sources.closing() ? "shutting down" : sources.stopped()),
    degraded: () => {
      const damaged = [...sources.damage.counts].map(([part, { findings, lostBytes }]) => {
        const places = findings === 1 ? "1 damaged place" : `${findings} damaged places`;
        return [`${part} damage`, `${places}, ${lostBytes} bytes given up: see the log`];
      });
      return Object.fromEntries([...sources.troubles.all(), ...damaged]);
    },
    note: sources.troubles.note,
    clockJumped: (jump) => count(clockJumps, jump),
    observeWrite: (seconds) => writes.observe(seconds),
    metrics,
  };
}
