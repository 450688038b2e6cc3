import { type InfluxServer, startInflux } from "../../test/influxd/influxd.js";
import { bareLineRate } from "../baselines/bare-influx.js";
import { bareInsertRate } from "../baselines/bare-libsql.js";
import { points } from "../load/fleet.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { brokerContender, type Shape, shapes, tidemarkContender } from "../subjects/contenders.js";

/** Acknowledged and stored rates of each shape of load, on each store, against aedes and the bare stores. */
export async function benchIngest(options: BenchOptions): Promise<Figure[]> {
  const influx = await startInflux();
  const figures: Figure[] = [];
  try {
    for (const shape of shapes.filter(({ name }) => wants(options, name))) {
      progress(`ingest ${shape.name}`);
      figures.push(...(await compareAll(openersOf(shape, influx, options), options.rounds)));
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
  const { url, token, org, bucket } = influx;
  const target = { url, token, org, bucket };
  return [
    () => brokerContender("sink", shape, seconds),
    () => brokerContender("aedes", shape, seconds),
    () => tidemarkContender("held", { dir, holdSeries: true }, shape, seconds, null),
    () => tidemarkContender("guarded", { dir, holdSeries: true, limited: true }, shape, seconds, null),
    async () => bareContender(table, () => bareInsertRate(dir, series, seconds)),
    () => tidemarkContender("embedded", { dir }, shape, seconds, table),
    async () => bareContender(lines, () => bareLineRate(target, shape.connections, seconds)),
    () => tidemarkContender("influx", { dir, influx: target }, shape, seconds, lines),
  ];
}

function bareContender(name: string, rate: () => Promise<number>): Contender {
  return {
    run: async () => [{ name, value: await rate(), unit: "points/s" }],
    close: async () => {},
  };
}
