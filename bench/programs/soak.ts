import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { slopeOf } from "../slope.js";
import { openLoadedTidemark } from "../subjects/contenders.js";
import { rssMB } from "../subjects/proc.js";

const sampleMs = 10_000;
/** Share of the run that is left out of the slope: caches and the memtable still fill. */
const settlingShare = 0.25;

const shape = { name: "50x50", connections: 50, inflight: 50 };

/** Minutes at a fixed rate into the embedded store; the memory's slope is compared with the memory itself. */
export async function benchSoak(options: BenchOptions): Promise<Figure[]> {
  const tidemark = await openLoadedTidemark({ dir: options.dir }, shape);
  const samples: [seconds: number, megabytes: number][] = [];
  const started = performance.now();
  function sample(): void {
    const seconds = (performance.now() - started) / 1000;
    const megabytes = rssMB(tidemark.service.pid());
    samples.push([seconds, megabytes]);
    progress(`soak ${Math.round(seconds)} s: ${Math.round(megabytes)} MB`);
  }
  sample();
  const timer = setInterval(sample, sampleMs);
  const seconds = options.minutes * 60;
  const { load, tailSeconds } = await tidemark.measure({ seconds, ratePerSecond: options.ratePerSecond });
  clearInterval(timer);
  sample();
  await tidemark.close();
  const settled = samples.filter(([at]) => at >= seconds * settlingShare);
  const first = settled[0]?.[1] ?? 0;
  const last = settled.at(-1)?.[1] ?? 0;
  const peak = Math.max(...samples.map(([, megabytes]) => megabytes));
  return [
    { name: "memory when settled", value: first, unit: "MB", detail: { "peak MB": peak } },
    { name: "memory at the end", value: last, unit: "MB", baseline: "memory when settled" },
    { name: "memory an hour", value: slopeOf(settled) * 3600, unit: "MB", baseline: "memory when settled" },
    { name: "rate asked for", value: options.ratePerSecond, unit: "msg/s" },
    {
      name: "rate acknowledged",
      value: load.rate,
      unit: "msg/s",
      baseline: "rate asked for",
      detail: {
        "p50 ms": load.p50,
        "p99 ms": load.p99,
        "max ms": load.max,
        errors: load.errors,
        "tail s": tailSeconds,
      },
    },
  ];
}
