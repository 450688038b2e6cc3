import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type LoadedTidemark, openLoadedTidemark } from "../subjects/contenders.js";

const shape = { name: "50x50", connections: 50, inflight: 50 };
const delayMetric = "tidemark_event_loop_delay_seconds";
const dashboardMs = 1_000;
const dashboardDevices = 10;

/**
 * How long the service's event loop is held up (p99.9) while it takes half of what it can and a dashboard asks
 * every second; against the same loop at rest.
 */
export async function benchLoop(options: BenchOptions): Promise<Figure[]> {
  const tidemark = await openLoadedTidemark({ dir: options.dir }, shape);
  const limit = (await tidemark.measure({ seconds: options.seconds })).storedRate;

  await readDelayMs(tidemark);
  await new Promise((resolve) => setTimeout(resolve, options.seconds * 1000));
  const atRest = await readDelayMs(tidemark);

  const dashboard = startDashboard(tidemark);
  // Not `measure`: its wait for the store reads the metrics too, and each reading begins a new count.
  const load = await tidemark.generator.round({ seconds: options.seconds * 2, ratePerSecond: limit / 2 });
  const atHalf = await readDelayMs(tidemark);
  const answers = await dashboard.stop();
  await tidemark.close();
  return [
    { name: "loop delay at rest", value: atRest, unit: "ms p99.9" },
    {
      name: "loop delay at half the limit",
      value: atHalf,
      unit: "ms p99.9",
      baseline: "loop delay at rest",
      detail: { "msg/s": load.rate, "p50 ms": load.p50, "p99 ms": load.p99, "max ms": load.max, ...answers },
    },
  ];
}

async function readDelayMs(tidemark: LoadedTidemark): Promise<number> {
  return (await tidemark.service.metric(delayMetric, 'quantile="0.999"')) * 1000;
}

/** Asks for the last hour of ten devices every second. */
function startDashboard({ service, fleet }: LoadedTidemark) {
  let slowestMs = 0;
  let failures = 0;
  let asked = Promise.resolve();

  async function ask(): Promise<void> {
    for (const { deviceID } of fleet.devices.slice(0, dashboardDevices)) {
      const started = performance.now();
      const query = `deviceID=${encodeURIComponent(deviceID)}&metricType=2&time_unit=minute`;
      const { status } = await service.api().call("GET", `/api/v1/metrics_data?${query}`);
      if (status !== 200) failures += 1;
      slowestMs = Math.max(slowestMs, performance.now() - started);
    }
  }
  const timer = setInterval(() => {
    asked = asked.then(ask);
  }, dashboardMs);
  return {
    async stop() {
      clearInterval(timer);
      await asked;
      return { "slowest answer ms": slowestMs, "failed answers": failures };
    },
  };
}
