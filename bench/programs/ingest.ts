import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type InfluxServer, startInflux } from "../../test/influxd/influxd.js";
import { brokerMissing } from "../../test/ingest/transports/broker/mosquitto.js";
import { openBareFile } from "../baselines/bare-file.js";
import { bareLineRate } from "../baselines/bare-influx.js";
import { bareInsertRate } from "../baselines/bare-libsql.js";
import { points } from "../load/fleet.js";
import { percentileOf } from "../load/histogram.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { brokerContender, type Shape, shapes, tidemarkContender } from "../subjects/contenders.js";

/** The shape whose latency is one message's: what it waits for is the network, the disk, and us. */
const oneByOne = "1x1";
const commitsName = `${oneByOne} bare write + fdatasync`;
const leastName = `${oneByOne} sink's PUBACK + bare write and fdatasync, p50`;
/** About a record of the journal. */
const recordBytes = 128;

/** Acknowledged and stored rates of each shape of load, on each store, against aedes and the bare stores. */
export async function benchIngest(options: BenchOptions): Promise<Figure[]> {
  const influx = await startInflux();
  const figures: Figure[] = [];
  try {
    for (const shape of shapes.filter(({ name }) => wants(options, name))) {
      progress(`ingest ${shape.name}`);
      const own = await compareAll(openersOf(shape, influx, options), options.rounds);
      figures.push(...own, ...(shape.name === oneByOne ? latenciesOf(own) : []));
    }
  } finally {
    await influx.close();
  }
  return figures;
}

function openersOf(shape: Shape, influx: InfluxServer, options: BenchOptions): (() => Promise<Contender>)[] {
  const { dir, seconds } = options;
  const series = shape.connections * points.length;
  const table = `${shape.name} bare libSQL table`;
  const lines = `${shape.name} bare line protocol`;
  return [
    () => brokerContender("sink", shape, options),
    () => brokerContender("aedes", shape, options),
    ...(brokerMissing() === null ? [() => brokerContender("mosquitto", shape, options)] : []),
    ...(shape.name === oneByOne ? [() => commitContender(options)] : []),
    () => tidemarkContender("held", { dir, holdSeries: true }, shape, seconds, null),
    () => tidemarkContender("guarded", { dir, holdSeries: true, limited: true }, shape, seconds, null),
    async () => bareContender(table, () => bareInsertRate(dir, series, seconds)),
    () => tidemarkContender("embedded", { dir }, shape, seconds, table),
    async () => bareContender(lines, () => bareLineRate(influx, shape.connections, seconds)),
    () => tidemarkContender("influx", { dir, influx }, shape, seconds, lines),
  ];
}

function bareContender(name: string, rate: () => Promise<number>): Contender {
  return {
    run: async () => [{ name, value: await rate(), unit: "points/s" }],
    close: async () => {},
  };
}

/** One record after the other made durable, and nothing else. */
async function commitContender({ dir, seconds }: BenchOptions): Promise<Contender> {
  const ownDir = await mkdtemp(join(dir, "tidemark-bench-"));
  const file = await openBareFile(ownDir);
  return {
    run: async () => {
      const [times, started] = [[] as number[], performance.now()];
      for (let at = started; at - started < seconds * 1000; ) {
        await file.commit(recordBytes);
        const now = performance.now();
        times.push(now - at);
        at = now;
      }
      const detail = { "p50 ms": percentileOf(times, 0.5), "p99 ms": percentileOf(times, 0.99) };
      return [{ name: commitsName, value: times.length / seconds, unit: "commits/s", detail }];
    },
    close: async () => {
      await file.close();
      await rm(ownDir, { recursive: true, force: true });
    },
  };
}

/** What a PUBACK takes at the median, beside the least that its parts take. */
function latenciesOf(figures: readonly Figure[]): Figure[] {
  const p50Of = (name: string): number =>
    Number(figures.find((figure) => figure.name === name)?.detail?.["p50 ms"] ?? Number.NaN);
  const least = p50Of(`${oneByOne} sink, acked`) + p50Of(commitsName);
  return [
    { name: leastName, value: least, unit: "ms" },
    ...["held", "embedded"].map((name) => ({
      name: `${oneByOne} tidemark ${name}, PUBACK p50`,
      value: p50Of(`${oneByOne} tidemark ${name}, acked`),
      unit: "ms",
      baseline: leastName,
    })),
  ];
}
