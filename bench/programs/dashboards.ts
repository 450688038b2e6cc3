import { startInflux } from "../../test/influxd/influxd.js";
import { inParallel } from "../load/api-client.js";
import { publishAll } from "../load/backfill.js";
import { credentialOf, type FleetOfDevices, provision } from "../load/fleet.js";
import { payloadsOf } from "../load/history.js";
import { startViewers } from "../load/viewers.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type LoadedTidemark, openLoadedTidemark } from "../subjects/contenders.js";
import type { InfluxTarget } from "../subjects/tidemark.js";

const shape = { name: "50x50", connections: 50, inflight: 50 };
const panels = 10;
const viewers = { count: 50, everyMs: 5_000 } as const;
const dayMs = 86_400_000;
const entriesPerMessage = 200;

/**
 * 50 viewers, each of whom has ten panels drawn anew every five seconds, beside ingest at half its limit and at full
 * speed: how long answers take, and what ingest loses. Each panel shows the hours of yesterday, a point a minute.
 */
export async function benchDashboards(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  if (wants(options, "embedded")) figures.push(...(await benchEngine("embedded", options, null)));
  if (wants(options, "influx")) {
    const server = await startInflux();
    figures.push(...(await benchEngine("influx", options, server)));
    await server.close();
  }
  return figures;
}

async function benchEngine(
  name: string,
  options: BenchOptions,
  influx: InfluxTarget | null,
): Promise<Figure[]> {
  progress(`dashboards ${name}`);
  const tidemark = await openLoadedTidemark({ dir: options.dir, ...(influx && { influx }) }, shape);
  const asks = questionsOf(await provisionPanels(tidemark));
  const { seconds } = options;
  // Long enough for every viewer to come three times.
  const watched = Math.max(seconds, (3 * viewers.everyMs) / 1000);
  const limit = (await tidemark.measure({ seconds: watched })).storedRate;
  const half = { seconds: watched, ratePerSecond: limit / 2 };
  const alone = await tidemark.measure(half);

  const crowd = startViewers(tidemark.service.api(), asks, viewers);
  const beside = await tidemark.measure(half);
  const answers = crowd.take();
  const limitBeside = (await tidemark.measure({ seconds: watched })).storedRate;
  const answersAtLimit = await crowd.stop();
  await tidemark.close();

  const puback = (load: typeof alone.load) => ({
    value: load.p99,
    unit: "ms p99",
    detail: { "p50 ms": load.p50 },
  });
  return [
    { name: `${name}: stored at full speed`, value: limit, unit: "msg/s" },
    {
      name: `${name}: stored at full speed beside viewers`,
      value: limitBeside,
      unit: "msg/s",
      baseline: `${name}: stored at full speed`,
    },
    { name: `${name}: PUBACK at half the limit`, ...puback(alone.load) },
    {
      name: `${name}: PUBACK at half the limit beside viewers`,
      ...puback(beside.load),
      baseline: `${name}: PUBACK at half the limit`,
    },
    { name: `${name}: answers beside half the limit`, ...answers },
    { name: `${name}: answers beside full speed`, ...answersAtLimit },
  ];
}

/** Devices of their own, each with the points of yesterday. */
async function provisionPanels({ service }: LoadedTidemark): Promise<FleetOfDevices> {
  const fleet = await provision(service.api(), panels);
  const stopMs = Math.floor(Date.now() / dayMs) * dayMs;
  await inParallel(panels, async (i) => {
    const device = fleet.devices[i];
    if (device === undefined) throw new RangeError(`there is no device ${i}`);
    const payloads = payloadsOf(stopMs - dayMs, stopMs, entriesPerMessage);
    await publishAll(service.mqttPort(), credentialOf(device), "telemetry", payloads);
  });
  await service.stored();
  return fleet;
}

function questionsOf({ devices, metricIntIDs }: FleetOfDevices): string[] {
  const stopMs = Math.floor(Date.now() / dayMs) * dayMs;
  const range = { startTime: String(stopMs - dayMs), endTime: String(stopMs), timezone: "UTC" };
  return devices.map(({ deviceID }) => {
    const metric = { metricType: "2", metricIntID: String(metricIntIDs[0]), time_unit: "hour" };
    return `/api/v1/metrics_data?${new URLSearchParams({ deviceID, ...metric, ...range })}`;
  });
}
