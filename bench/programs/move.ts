import { join } from "node:path";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import {
  compareStores,
  copyPoints,
  type MovedDevice,
  noCounts,
} from "../../store/series/move/move-points.js";
import type { SeriesRef, SeriesStore } from "../../store/series/series.js";
import { startInflux } from "../../test/influxd/influxd.js";
import { bareLineRate } from "../baselines/bare-influx.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";

const fields = ["a", "b", "c"] as const;
/** Devices and points of each of their series: some that measure often, many that measure seldom. */
const shapes = [
  [100, 10_000],
  [10_000, 100],
] as const;
const stepMicros = 60_000_000;
const firstMicros = Date.UTC(2025, 0, 1) * 1000;
const perGroup = 200;

/** Points a second from the embedded store to InfluxDB and back, and again where everything is there already. */
export async function benchMove(options: BenchOptions): Promise<Figure[]> {
  const influx = await startInflux();
  progress("move: bare line protocol");
  const bare = {
    name: "bare line protocol",
    value: await bareLineRate(influx, 100, options.seconds),
    unit: "points/s",
  };
  const figures: Figure[] = [bare];
  for (const [devices, each] of shapes) {
    const count = options.quick ? Math.ceil(devices / 10) : devices;
    const name = `${count.toLocaleString("en")} devices of ${(each * fields.length).toLocaleString("en")}`;
    figures.push(...(await moveBothWays(options, influx, { name, count, each, baseline: bare.name })));
  }
  await influx.close();
  return figures;
}

interface Shape {
  readonly name: string;
  readonly count: number;
  readonly each: number;
  readonly baseline: string;
}

async function moveBothWays(
  { dir }: BenchOptions,
  { url, token, org }: Awaited<ReturnType<typeof startInflux>>,
  { name, count, each, baseline }: Shape,
): Promise<Figure[]> {
  const bucket = `move-${count}`;
  const embedded = await openLibsqlSeriesStore({ dir: join(dir, bucket) });
  const back = await openLibsqlSeriesStore({ dir: join(dir, `${bucket}-back`) });
  const influx = await openInfluxSeriesStore({
    ...{ url, token, org, bucket, firstShard: 0 },
    checkpoint: () => ({ read: async () => 0, write: async () => undefined }),
    ledger: {
      bucketOrigin: async () => "made",
      keepBucketOrigin: async () => undefined,
      conflicts: async () => [],
      keepConflict: async () => undefined,
      endConflict: async () => undefined,
    },
  });
  const devices = Array.from({ length: count }, (_, id) => deviceOf(id));
  progress(`move: ${name}: points`);
  await fill(embedded, devices, each);
  const figures: Figure[] = [];
  const measure = async (what: string, from: SeriesStore, to: SeriesStore) => {
    progress(`move: ${name}: ${what}`);
    const begun = performance.now();
    const { points, written } = await move(from, to, devices);
    const value = points / ((performance.now() - begun) / 1000);
    figures.push({
      name: `${name}, ${what}`,
      value,
      unit: "points/s",
      baseline,
      detail: { points, written },
    });
  };
  await measure("to InfluxDB", embedded, influx);
  await measure("to InfluxDB, where they are", embedded, influx);
  await measure("from InfluxDB", influx, back);
  for (const store of [embedded, back, influx]) await store.close();
  return figures;
}

function deviceOf(id: number): MovedDevice {
  const series = fields.map((field): SeriesRef => {
    return { tenant: 1, productID: "MOVING", deviceID: `d-${id}`, field, kind: "number" };
  });
  return { id: id + 1, series };
}

async function fill(store: SeriesStore, devices: readonly MovedDevice[], each: number): Promise<void> {
  for (const { series } of devices) {
    const length = each * series.length;
    await store.writeBatch({
      series,
      seriesAt: Int32Array.from({ length }, (_, i) => i % series.length),
      times: Float64Array.from(
        { length },
        (_, i) => firstMicros + Math.floor(i / series.length) * stepMicros,
      ),
      values: Float64Array.from({ length }, (_, i) => 20 + Math.sin(i / 100)),
      texts: [],
    });
  }
  await store.flush();
}

async function* inGroups(devices: readonly MovedDevice[]): AsyncGenerator<MovedDevice[]> {
  for (let at = 0; at < devices.length; at += perGroup) yield devices.slice(at, at + perGroup);
}

/** As the command does it: copied, then looked for. */
async function move(from: SeriesStore, to: SeriesStore, devices: readonly MovedDevice[]) {
  const shared = { from, to, signal: new AbortController().signal };
  const counts = await copyPoints(
    { ...shared, devices: inGroups(devices), copied: async () => undefined },
    noCounts,
  );
  let missing = 0;
  await compareStores({
    ...shared,
    devices: inGroups(devices),
    checked: (found) => {
      missing += found.length;
    },
  });
  if (missing > 0) throw new Error(`${missing} series were not moved in full`);
  return counts;
}
