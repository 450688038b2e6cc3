import { percentileOf } from "../load/histogram.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type LoadedTidemark, openLoadedTidemark } from "../subjects/contenders.js";
import { rssMB } from "../subjects/proc.js";

/** As many connections as one device may have, so that the load is the same with one device as with many. */
const shape = { name: "8x250", connections: 8, inflight: 250 };

/** What a message and a query cost, and the memory, by number of registered devices; against the fewest. */
export async function benchScale(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  const fewest = Math.min(...options.devices);
  for (const devices of options.devices) {
    progress(`scale: ${devices} devices, registering`);
    const started = performance.now();
    const tidemark = await openLoadedTidemark({ dir: options.dir }, shape, devices);
    progress(
      `scale: ${devices} devices after ${Math.round((performance.now() - started) / 1000)} s, measuring`,
    );
    figures.push(...(await measure(tidemark, devices, fewest, options)));
    await tidemark.close();
  }
  return figures;
}

async function measure(
  tidemark: LoadedTidemark,
  devices: number,
  fewest: number,
  options: BenchOptions,
): Promise<Figure[]> {
  const { load, cpu } = await tidemark.measure({ seconds: options.seconds });
  const times = await queryTimes(tidemark, options.calls);
  const figure = (what: string, value: number, unit: string, detail: Figure["detail"] = {}): Figure => ({
    name: `${what}, ${devices} devices`,
    value,
    unit,
    detail,
    ...(devices === fewest ? {} : { baseline: `${what}, ${fewest} devices` }),
  });
  return [
    figure("CPU a message", (cpu * 1e6) / load.acked, "µs"),
    figure("acked", load.rate, "msg/s", { "p50 ms": load.p50, "p99 ms": load.p99, "max ms": load.max }),
    figure("query", percentileOf(times, 0.5), "ms p50", { "p99 ms": percentileOf(times, 0.99) }),
    figure("memory", rssMB(tidemark.service.pid()), "MB"),
  ];
}

/** Hourly means of the last day, the devices taking turns over the whole fleet. */
async function queryTimes({ service, fleet }: LoadedTidemark, calls: number): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < calls; call++) {
    const device = fleet.devices[Math.floor((call * fleet.devices.length) / calls)];
    const query = `deviceID=${encodeURIComponent(device?.deviceID ?? "")}&metricType=2&time_unit=hour`;
    const started = performance.now();
    await service.api().get(`/api/v1/metrics_data?${query}`);
    times.push(performance.now() - started);
  }
  return times;
}
