import { startInflux } from "../../test/influxd/influxd.js";
import { type BareInflux, openBareInflux, valuesOf } from "../baselines/bare-influx.js";
import { type BareTable, openBareTable } from "../baselines/bare-libsql.js";
import { publishAll } from "../load/backfill.js";
import { type ChartQuestion, chartQuestions } from "../load/charts.js";
import { credentialOf, type FleetOfDevices, provision } from "../load/fleet.js";
import { percentileOf } from "../load/histogram.js";
import { minuteBatches, payloadsOf, type Question, questions, valueAt, yearBefore } from "../load/history.js";
import { timed, warmUp } from "../load/timing.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { startTidemark, type Tidemark, type TidemarkOptions } from "../subjects/tidemark.js";

type Means = (number | null)[];
/** Answers a query; its duration is measured. */
type Ask = (question: Question) => Promise<Means>;

interface Pair {
  readonly name: string;
  readonly bareName: string;
  readonly tidemark: Ask;
  readonly bare: Ask;
  readonly charts: readonly ChartQuestion[];
  close(): Promise<void>;
}

const entriesPerMessage = 200;

/** Means of calendar windows over a year of one-minute points: Tidemark's HTTP answer against the engine's own. */
export async function benchQuery(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [engine, open] of Object.entries({ embedded: openEmbeddedPair, influx: openInfluxPair })) {
    if (!wants(options, engine)) continue;
    progress(`query ${engine}: loading a year of one-minute points`);
    const pair = await open(options);
    for (const question of questions(yearBefore(new Date()).year)) {
      progress(`query ${engine}: ${question.name}`);
      figures.push(...(await compare(pair, question, options.calls)));
    }
    for (const { name, ask } of pair.charts) {
      progress(`query ${engine}: ${name}`);
      figures.push(await chartFigure(`${name}, tidemark ${pair.name}`, ask, options.calls));
    }
    await pair.close();
  }
  return figures;
}

/** Asks both in turn, after untimed calls whose answers must agree. */
async function compare(pair: Pair, question: Question, calls: number): Promise<Figure[]> {
  await warmUp(async () => {
    assertSame(await pair.tidemark(question), await pair.bare(question), `${pair.name}, ${question.name}`);
  });
  const times = { tidemark: [] as number[], bare: [] as number[] };
  for (let call = 0; call < calls; call++) {
    times.bare.push(await timed(() => pair.bare(question)));
    times.tidemark.push(await timed(() => pair.tidemark(question)));
  }
  const bareName = `${question.name}, ${pair.bareName}`;
  return [
    { ...latency(bareName, times.bare) },
    { ...latency(`${question.name}, tidemark ${pair.name}`, times.tidemark), baseline: bareName },
  ];
}

async function chartFigure(name: string, ask: () => Promise<void>, calls: number): Promise<Figure> {
  await warmUp(ask);
  const times: number[] = [];
  for (let call = 0; call < calls; call++) times.push(await timed(ask));
  return latency(name, times);
}

function latency(name: string, times: readonly number[]): Figure {
  return {
    name,
    value: percentileOf(times, 0.5),
    unit: "ms p50",
    detail: { "p99 ms": percentileOf(times, 0.99) },
  };
}

const toleranceRelative = 1e-9;

function assertSame(found: Means, wanted: Means, where: string): void {
  const same = (value: number | null, i: number) => {
    const other = wanted[i] ?? null;
    if (value === null || other === null) return value === other;
    return Math.abs(value - other) <= toleranceRelative * Math.max(1, Math.abs(other));
  };
  if (found.length === wanted.length && found.every(same)) return;
  const sample = (means: Means) => `${means.length} of ${JSON.stringify(means.slice(0, 3))}`;
  throw new Error(`cannot compare ${where}: the answers differ, ${sample(found)} against ${sample(wanted)}`);
}

async function openEmbeddedPair(options: BenchOptions): Promise<Pair> {
  const loaded = await openLoaded({ dir: options.dir });
  const table = await openBareTable(options.dir);
  await fill(table);
  return {
    name: "embedded",
    bareName: "bare SQL",
    tidemark: loaded.ask,
    charts: await chartQuestions(loaded.service, loaded.fleet),
    bare: ({ edges }) => table.windowMeans(1, edges),
    async close() {
      await table.close();
      await loaded.service.close();
    },
  };
}

async function fill(table: BareTable): Promise<void> {
  const { startMs, stopMs } = yearBefore(new Date());
  for (const times of minuteBatches(startMs, stopMs, 5_000)) {
    await table.insert(times.map((time) => [1, time, valueAt(time)] as const));
  }
}

async function openInfluxPair(options: BenchOptions): Promise<Pair> {
  const server = await startInflux();
  const { service, fleet, ask } = await openLoaded({ dir: options.dir, influx: server });
  const influx = openBareInflux(server);
  return {
    name: "influx",
    bareName: "bare Flux",
    tidemark: ask,
    charts: await chartQuestions(service, fleet),
    bare: (question) => askFlux(influx, server.bucket, fleet, question),
    async close() {
      influx.close();
      await service.close();
      await server.close();
    },
  };
}

async function askFlux(
  influx: BareInflux,
  bucket: string,
  fleet: FleetOfDevices,
  question: Question,
): Promise<Means> {
  const { edges, flux } = question;
  const [start, stop] = [edges[0] ?? 0, edges.at(-1) ?? 0].map((edge) => new Date(edge).toISOString());
  const csv = await influx.query(`from(bucket: ${JSON.stringify(bucket)})
    |> range(start: ${start}, stop: ${stop})
    |> filter(fn: (r) => r._measurement == ${JSON.stringify(fleet.productID)}
      and r.device == ${JSON.stringify(fleet.devices[0]?.deviceID)} and r._field == "temp")
    |> aggregateWindow(every: ${flux}, fn: mean, timeSrc: "_start")
    |> keep(columns: ["_time", "_value"])`);
  return valuesOf(csv);
}

interface Loaded {
  readonly service: Tidemark;
  readonly fleet: FleetOfDevices;
  readonly ask: Ask;
}

/** A service that has taken the year over MQTT and has been restarted, so that nothing is answered from memory. */
async function openLoaded(options: TidemarkOptions): Promise<Loaded> {
  const service = await startTidemark(options);
  const fleet = await provision(service.api(), 1);
  const { startMs, stopMs } = yearBefore(new Date());
  const [device] = fleet.devices;
  if (device === undefined) throw new Error("cannot load a year: there is no device");
  const payloads = payloadsOf(startMs, stopMs, entriesPerMessage);
  await publishAll(service.mqttPort(), credentialOf(device), "telemetry", payloads);
  await service.stored();
  await service.restart();
  return { service, fleet, ask: (question) => askTidemark(service, fleet, question) };
}

async function askTidemark(service: Tidemark, fleet: FleetOfDevices, question: Question): Promise<Means> {
  const query = new URLSearchParams({
    deviceID: fleet.devices[0]?.deviceID ?? "",
    metricType: "2",
    metricIntID: String(fleet.metricIntIDs[0]),
    time_unit: question.unit,
    startTime: String(question.edges[0]),
    endTime: String(question.edges.at(-1)),
  });
  const items = await service.api().get<{ metricData: { value: Means } }[]>(`/api/v1/metrics_data?${query}`);
  return items[0]?.metricData.value ?? [];
}
