import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { listenersOff } from "../../test/world.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Child, startChild } from "../subjects/child.js";
import { probed, settledMemory } from "../subjects/memory.js";
import { cpuSeconds, threadsOf } from "../subjects/proc.js";

const counts = [1, 12, 64];
/** After this long the work of a start is done. */
const settledMs = 8000;

/** What a process costs that has nothing to do, by number of its shards; against one shard. */
export async function benchShards(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  let one: Idle | null = null;
  for (const shards of counts) {
    progress(`shards: ${shards}`);
    const idle = await measure(shards, options);
    one ??= idle;
    figures.push(...figuresOf(shards, idle, one));
  }
  return figures;
}

/** What an idle process takes. */
interface Idle {
  readonly rss: number;
  readonly threads: number;
  /** CPU milliseconds of a second. */
  readonly cpu: number;
}

async function measure(shards: number, { dir, seconds }: BenchOptions): Promise<Idle> {
  const child = startChild("../test/flow/shards.child.js", [], {
    SHARDS: String(shards),
    DATA_DIR: await mkdtemp(join(dir, "shards-")),
    HTTP_PORT: "0",
    MQTT_PORT: "0",
    ...listenersOff,
    ...probed,
  });
  try {
    await child.next("msg", "listening");
    await pause(settledMs);
    return await idleOf(child, seconds);
  } finally {
    await child.stop();
  }
}

async function idleOf(child: Child, seconds: number): Promise<Idle> {
  const { pid } = child;
  const before = cpuSeconds(pid);
  await pause(seconds * 1000);
  const cpu = ((cpuSeconds(pid) - before) * 1000) / seconds;
  const { rss } = await settledMemory(child);
  return { rss: rss / 1e6, threads: threadsOf(pid), cpu };
}

function figuresOf(shards: number, idle: Idle, one: Idle): Figure[] {
  const figure = (what: string, key: keyof Idle, unit: string): Figure => ({
    name: shards === 1 ? `${what}, 1 shard` : `${what}, ${shards} shards`,
    value: idle[key],
    unit,
    detail: shards === 1 ? {} : { "a further shard": (idle[key] - one[key]) / (shards - 1) },
    ...(shards === 1 ? {} : { baseline: `${what}, 1 shard` }),
  });
  return [
    figure("memory", "rss", "MB"),
    figure("threads", "threads", ""),
    figure("CPU at rest", "cpu", "ms/s"),
  ];
}
