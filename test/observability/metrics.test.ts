/** The text of /metrics: each metric once, with its help and type, and the values that it is given. */
import { addCount, createMeter } from "../../ingest/meter.js";
import { metricsText } from "../../src/observability/metrics.js";
import { createHistogram } from "../../src/observability/prometheus.js";
import { assert, suite } from "../suite.js";

function text(): string {
  const meter = createMeter();
  meter.messages = 7;
  addCount(meter.refused, "type");
  return metricsText({
    meter,
    journal: { pendingBytes: 0, segments: 0 },
    live: { listeners: 2, queued: 0, bytes: 0, letGo: 0 },
    damage: new Map([["journal", { findings: 1, lostBytes: 40 }]]),
    setAside: new Map([["series", 3]]),
    heldBytes: 0,
    lag: { series: 5, alerts: 6, seriesSeconds: 1.5 },
    removals: { left: 1, done: 2 },
    backups: { completedAt: 1_800_000_000_500, completed: 4, failed: 1 },
    loopDelay: { percentile: (percent) => percent * 1e9 },
    clockJumps: new Map([["forward", 1]]),
    build: { version: "1.2.3", commit: null, timezones: "2026f", engine: "embedded" },
    notReady: "the disk is full",
    degraded: { influx: "does not answer" },
    certificateEnds: new Map([["server", 1_800_000_000_000]]),
    freeDiskBytes: 12_345,
    residentBytes: 1000,
    logLinesDropped: 6,
    retentionLagSeconds: 86_400,
    commits: createHistogram([0.1]),
    writes: createHistogram([0.1]),
  });
}

suite("the text of the metrics", (test) => {
  test("every metric stands once, with help and type before its samples", () => {
    const lines = text().trimEnd().split("\n");
    const named = (kind: string) =>
      lines.filter((line) => line.startsWith(`# ${kind} `)).map((line) => line.split(" ")[2]);
    const names = named("HELP");
    assert.equal(new Set(names).size, names.length);
    assert.equal(named("TYPE"), names);
    let current = "";
    for (const line of lines) {
      if (line.startsWith("# HELP ")) current = line.split(" ")[2] ?? "";
      else if (!line.startsWith("# ")) assert.ok(line.startsWith(current), line);
    }
  });

  test("values stand under their names and labels", () => {
    const lines = new Set(text().split("\n"));
    for (const line of [
      "tidemark_messages_total 7",
      'tidemark_build_info{version="1.2.3",commit="",engine="embedded",timezones="2026f"} 1',
      "tidemark_ready 0",
      'tidemark_degraded{part="influx"} 1',
      'tidemark_certificate_end_seconds{certificate="server"} 1800000000',
      "tidemark_disk_free_bytes 12345",
      'tidemark_refused_total{reason="type"} 1',
      'tidemark_damage_lost_bytes_total{part="journal"} 40',
      'tidemark_set_aside_messages{follower="series"} 3',
      'tidemark_journal_lag_messages{consumer="alerts"} 6',
      'tidemark_journal_lag_seconds{consumer="series"} 1.5',
      "tidemark_removals_left 1",
      "tidemark_backup_completed_seconds 1800000000.5",
      'tidemark_backups_total{outcome="failed"} 1',
      'tidemark_event_loop_delay_seconds{quantile="0.5"} 50',
      'tidemark_event_loop_delay_seconds{quantile="0.99"} 99',
      'tidemark_event_loop_delay_seconds{quantile="0.999"} 99.9',
      'tidemark_clock_jumps_total{direction="forward"} 1',
      "tidemark_log_lines_dropped_total 6",
      "tidemark_retention_lag_seconds 86400",
      "process_resident_memory_bytes 1000",
    ]) {
      assert.ok(lines.has(line), line);
    }
  });
});
