import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createRemovals } from "../../src/background/removals.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { endRemovals, listRemovals } from "../../store/metadata/removals.js";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { SeriesPointBatch, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { startInflux } from "../../test/influxd/influxd.js";
import { memoryLedger } from "../../test/influxd/ledger.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";

const full = { devices: 100_000, alone: 1000, influxDevices: 2000, influxAlone: 100 };
const quick = { devices: 10_000, alone: 200, influxDevices: 200, influxAlone: 20 };
const fields = ["temp", "hum", "co2"] as const;
/** Points of each series, a day apart from the next. */
const pointsPerSeries = 3;
const dayMicros = 86_400e6;
const firstTime = Date.UTC(2026, 0, 1) * 1000;
const devicesPerWrite = 500;
const tenant = 1;
const productID = "p";

/**
 * Deleted devices whose deviceIDs come free a second: without points, and with three series each, by the queue's
 * drain; against one device after the other.
 */
export async function benchRemovals(options: BenchOptions): Promise<Figure[]> {
  const counts = options.quick ? quick : full;
  const figures: Figure[] = [];
  if (wants(options, "embedded")) {
    const dir = await mkdtemp(join(options.dir, "removals-"));
    const series = await openLibsqlSeriesStore({ dir: join(dir, "series"), memtablePointsMax: 500_000 });
    figures.push(
      ...(await benchEngine(dir, "embedded", series, counts.devices, counts.devices, counts.alone)),
    );
    await series.close();
    await rm(dir, { recursive: true });
  }
  if (wants(options, "influx")) {
    const dir = await mkdtemp(join(options.dir, "removals-"));
    const server = await startInflux();
    let checkpoint = 0;
    const series = await openInfluxSeriesStore({
      url: server.url,
      token: server.token,
      org: server.org,
      bucket: server.bucket,
      firstShard: 0,
      ledger: memoryLedger(),
      checkpoint: () => ({
        read: async () => checkpoint,
        write: async (id) => {
          checkpoint = id;
        },
      }),
    });
    const { devices, influxDevices, influxAlone } = counts;
    figures.push(...(await benchEngine(dir, "influx", series, devices, influxDevices, influxAlone)));
    await series.close();
    await server.close();
    await rm(dir, { recursive: true });
  }
  return figures;
}

async function benchEngine(
  dir: string,
  engine: string,
  series: SeriesStore,
  without: number,
  withPoints: number,
  alone: number,
): Promise<Figure[]> {
  const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
  progress(`removals, ${engine}: one after the other`);
  await fill(series, "alone", alone);
  await queue(db, "alone", alone);
  const oneByOne = await timed(() => removeOneByOne(db, series));
  progress(`removals, ${engine}: without points`);
  await queue(db, "never", without);
  const free = await timed(() => drain(db, series));
  progress(`removals, ${engine}: with points`);
  await fill(series, "sent", withPoints);
  await queue(db, "sent", withPoints);
  const removed = await timed(() => drain(db, series));
  const left = (await series.whichHavePoints(devicesOf("sent", 0, 200))).filter(Boolean).length;
  if (engine === "embedded" && left > 0) throw new Error(`${left} devices still have points`);
  await db.close();
  const baseline = `${engine} one after the other`;
  return [
    figure(baseline, alone, oneByOne),
    { ...figure(`${engine} without points`, without, free), baseline },
    { ...figure(`${engine} with points`, withPoints, removed), baseline },
  ];
}

interface Timed {
  readonly seconds: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
}

const figure = (name: string, devices: number, { seconds, loopP99Ms, loopMaxMs }: Timed): Figure => ({
  name,
  value: devices / seconds,
  unit: "devices/s",
  detail: { devices, seconds, "loop held ms p99": loopP99Ms, "max ms": loopMaxMs },
});

async function timed(work: () => Promise<void>): Promise<Timed> {
  // The monitor counts from the loop's last look at the clock, which what came before has kept waiting.
  await new Promise((resolve) => setTimeout(resolve, 10));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  delay.disable();
  return { seconds, loopP99Ms: delay.percentile(99) / 1e6, loopMaxMs: delay.max / 1e6 };
}

async function drain(db: Db, series: SeriesStore): Promise<void> {
  await createRemovals({
    db,
    series,
    journals: { all: [{ journal: { appendedID: 0 }, settledID: 0 }] },
    followed: async () => {},
    historySettled: async () => {},
    isHeld: () => false,
    log: { info: (msg, told) => progress(`removals: ${msg} ${JSON.stringify(told)}`) },
  }).drain();
}

async function removeOneByOne(db: Db, series: SeriesStore): Promise<void> {
  for (;;) {
    const [one] = await listRemovals(db, [{ tenant, after: 0, through: Number.MAX_SAFE_INTEGER }], 1);
    if (one?.deviceID == null) return;
    await series.removeDevices([{ tenant, productID, deviceID: one.deviceID }]);
    await endRemovals(db, [one.id]);
  }
}

/** As deletions leave it. */
async function queue(db: Db, name: string, count: number): Promise<void> {
  await db.write([
    {
      sql: `with recursive n (i) as (select 0 union all select i + 1 from n where i < ? - 1)
        insert into removal (tenant, productID, deviceID, createAt) select ?, ?, ? || '-' || i, 0 from n`,
      args: [count, tenant, productID, name],
    },
  ]);
}

const devicesOf = (name: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ tenant, productID, deviceID: `${name}-${from + i}` }));

/** Some points of every device, on the disk. */
async function fill(store: SeriesStore, name: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += devicesPerWrite) {
    const devices = devicesOf(name, from, Math.min(count, from + devicesPerWrite));
    const series = devices.flatMap((device) =>
      fields.map((field): SeriesRef => ({ ...device, field, kind: "number" })),
    );
    await store.writeBatch(createBatch(series));
  }
  await store.flush();
}

function createBatch(series: readonly SeriesRef[]): SeriesPointBatch {
  const count = series.length * pointsPerSeries;
  const seriesAt = Int32Array.from({ length: count }, (_, i) => Math.floor(i / pointsPerSeries));
  const times = Float64Array.from({ length: count }, (_, i) => firstTime + (i % pointsPerSeries) * dayMicros);
  return { series, seriesAt, times, values: times.map((_, i) => i % 100), texts: [] };
}
