import { join } from "node:path";
import type { EventQuery } from "../../store/events/event-pages.js";
import { logs } from "../../store/events/event-postings.js";
import { type EventLog, openEventLog } from "../../store/events/events.js";
import { type Journal, openJournal } from "../../store/journal/journal.js";
import { isMessage } from "../../store/journal/record.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { createHistogram } from "../load/histogram.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";

const devices = 1000;
const tenant = 1;
const payload = Buffer.from('{"temp":21.50,"hum":40.10,"volt":3.300}');

/** Lists of the event log, by device and account-wide, over ten million events (with --quick half a million). */
export async function benchEvents(options: BenchOptions): Promise<Figure[]> {
  const events = options.quick ? 500_000 : 10_000_000;
  const log = await openEventLog({
    path: join(options.dir, "events.db"),
    onTrouble: (error) => {
      throw error;
    },
    onDamage: ({ what }) => {
      throw new Error(what);
    },
  });
  const journal = await openJournal({
    dir: join(options.dir, "journal"),
    shard: 0,
    now: Date.now,
    segmentBytesMax: 64 * 1024 * 1024,
    segmentAgeMaxMs: 3_600_000,
    pendingBytesMax: 32 * 1024 * 1024,
    freeBytesMin: 0,
    onRecord: log.onRecord,
    onSegmentClosed: log.onSegmentClosed,
  });
  await log.attach(journal);
  await fill(journal, events);
  const figures = await ask(log, events, options.calls);
  await journal.close();
  await log.close();
  return figures;
}

async function fill(journal: Journal, events: number): Promise<void> {
  for (let at = 0; at < events; at++) {
    const id = journal.append({
      kind: recordKinds.uplink,
      tenant,
      device: 1 + (at % devices),
      connection: 1,
      session: 1,
      messageID: 1,
      qos: 1,
      dup: false,
      retain: false,
      refused: false,
      details: null,
      ip: "127.0.0.1",
      topic: at % 1000 === 0 ? "alarm" : "telemetry",
      payload,
    });
    if (at % 10_000 === 0) await journal.waitFor(id - 1);
  }
  await journal.waitFor(journal.appendedID - 1);
}

const page = (fields: Partial<EventQuery>): EventQuery => ({
  log: logs.events,
  tenant,
  devices: null,
  page: 1,
  limit: 10,
  ...fields,
});

async function ask(log: EventLog, events: number, calls: number): Promise<Figure[]> {
  const newest = "newest 10 of all";
  const lists: readonly (readonly [string, EventQuery])[] = [
    [newest, page({})],
    ["page 50,000 of all", page({ page: Math.min(50_000, events / 20) })],
    ["newest 10 of one device", page({ devices: [7] })],
    ["page 500 of one device", page({ devices: [7], page: Math.min(500, events / devices / 20) })],
    ["newest 10 of 100 devices", page({ devices: Array.from({ length: 100 }, (_, i) => i + 1) })],
    [
      "topic filter, bounded scan",
      page({ matches: (record) => isMessage(record) && record.topic === "alarm" }),
    ],
  ];
  const figures: Figure[] = [];
  for (const [name, query] of lists) {
    const times = createHistogram();
    let count = 0;
    let truncated = false;
    for (let call = 0; call < calls; call++) {
      const started = performance.now();
      const answer = await log.list(query);
      times.record(performance.now() - started);
      count = answer.count;
      truncated = answer.truncated;
    }
    const { p50, p99 } = times.latencies();
    const detail = { "p99 ms": p99, count, truncated: String(truncated) };
    figures.push({ name, value: p50, unit: "ms p50", baseline: newest, detail });
  }
  return figures;
}
