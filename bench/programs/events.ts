import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { EventPage, EventQuery } from "../../store/events/event-pages.js";
import { logs } from "../../store/events/event-postings.js";
import { type EventLogReading, openEventLog } from "../../store/events/events.js";
import { mergeEventLogs } from "../../store/events/merged-logs.js";
import { type Journal, openJournal } from "../../store/journal/journal.js";
import { isMessage } from "../../store/journal/record.js";
import { createHistogram, type Histogram } from "../load/histogram.js";
import { createUplink } from "../load/uplink.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";

const devices = 1000;
const tenant = 1;
const payload = Buffer.from('{"temp":21.50,"hum":40.10,"volt":3.300}');

/** Journals that the same events are spread over, by device, for the merged lists. */
const journals = 4;

/**
 * Lists of the event log, by device and account-wide, over ten million events (with --quick half a million): of one
 * journal, and merged from several that hold the same events.
 */
export async function benchEvents(options: BenchOptions): Promise<Figure[]> {
  const events = options.quick ? 500_000 : 10_000_000;
  const one = await openShard(join(options.dir, "one"), 0);
  await fill([one], events);
  const several: Shard[] = [];
  for (let node = 0; node < journals; node++) {
    several.push(await openShard(join(options.dir, `of-${journals}`, `${node}`), node));
  }
  await fill(several, events);
  const merged = mergeEventLogs(several.map(({ log }) => log));
  const figures = await ask([one.log, merged], events, options.calls);
  for (const shard of [one, ...several]) await shard.close();
  return figures;
}

interface Shard {
  readonly log: EventLogReading;
  readonly journal: Journal;
  close(): Promise<void>;
}

async function openShard(dir: string, node: number): Promise<Shard> {
  await mkdir(dir, { recursive: true });
  const log = await openEventLog({
    path: join(dir, "events.db"),
    onTrouble: (error) => {
      throw error;
    },
    onDamage: ({ what }) => {
      throw new Error(what);
    },
  });
  const journal = await openJournal({
    dir: join(dir, "journal"),
    shard: node,
    now: Date.now,
    segmentBytesMax: 64 * 1024 * 1024,
    segmentAgeMaxMs: 3_600_000,
    pendingBytesMax: 32 * 1024 * 1024,
    freeBytesMin: 0,
    onRecord: log.onRecord,
    onSegmentClosed: log.onSegmentClosed,
  });
  await log.attach(journal);
  const close = async () => {
    await journal.close();
    await log.close();
  };
  return { log, journal, close };
}

/** Spreads events over shards by device. */
async function fill(shards: readonly Shard[], events: number): Promise<void> {
  const written = async () => {
    for (const { journal } of shards) await journal.waitFor(journal.appendedID - 1);
  };
  for (let at = 0; at < events; at++) {
    const device = 1 + (at % devices);
    const uplink = createUplink(payload, at % 1000 === 0 ? "alarm" : "telemetry");
    shards[device % shards.length]?.journal.append({ ...uplink, tenant, device });
    if (at % 10_000 === 9_999) await written();
  }
  await written();
}

const page = (fields: Partial<EventQuery>): EventQuery => ({
  log: logs.events,
  tenant,
  devices: null,
  page: 1,
  limit: 10,
  ...fields,
});

async function ask(
  [one, merged]: readonly [EventLogReading, EventLogReading],
  events: number,
  calls: number,
): Promise<Figure[]> {
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
    const [ofOne, ofMerged] = [createHistogram(), createHistogram()];
    let answers: readonly EventPage[] = [];
    // In turn, so that a busy moment of the machine falls on both.
    for (let call = 0; call < calls; call++) {
      answers = [await timed(ofOne, one, query), await timed(ofMerged, merged, query)];
    }
    const figure = (times: Histogram, answer: EventPage | undefined) => {
      const { p50, p99 } = times.latencies();
      const detail = { "p99 ms": p99, count: answer?.count ?? 0, truncated: String(answer?.truncated) };
      return { value: p50, unit: "ms p50", detail };
    };
    figures.push({ name, baseline: newest, ...figure(ofOne, answers[0]) });
    figures.push({ name: `${name}, ${journals} journals`, baseline: name, ...figure(ofMerged, answers[1]) });
  }
  return figures;
}

async function timed(times: Histogram, log: EventLogReading, query: EventQuery): Promise<EventPage> {
  const started = performance.now();
  const answer = await log.list(query);
  times.record(performance.now() - started);
  return answer;
}
