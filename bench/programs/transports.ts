/** What devices get that do not speak MQTT, against MQTT and bare HTTP of the same run, and what a waiting poll holds. */

import { startBareHeld } from "../baselines/bare-held.js";
import { startBareHono } from "../baselines/bare-hono.js";
import { points, provision, writeCredentials } from "../load/fleet.js";
import { type Generator, startGenerator } from "../load/generator.js";
import type { LoadOptions } from "../load/load.js";
import { startPolls } from "../load/polls.js";
import type { RoundResult } from "../load/round.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import type { Child } from "../subjects/child.js";
import { probed, settledMemory } from "../subjects/memory.js";
import { cpuSeconds } from "../subjects/proc.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

const devices = 500;
const warmUpSeconds = 2;

/** How the generator sends, by the name of the figure. */
type Way = Omit<LoadOptions, "port" | "credentialsFile">;

const keptAlive: Way = { connections: 128, inflight: 1, protocol: "http" };
const mqtt500: Way = { connections: 500, inflight: 1 };
const frames500: Way = { ...mqtt500, protocol: "ws" };
const mqtt50: Way = { connections: 50, inflight: 50 };
const linesEach = 1000;
const batches: Way = {
  connections: 10,
  inflight: linesEach,
  protocol: "http",
  requests: { kind: "batch", path: "/api/v1/uplinks" },
};
const lines: Way = { ...batches, requests: { kind: "lines", path: "/api/v2/write" } };

export async function benchTransports(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  if (wants(options, "http")) figures.push(...(await httpFigures(options)));
  if (wants(options, "ws"))
    figures.push(...(await againstMqtt(options, mqtt500, [["plain frames, 500x1", frames500, "msg/s"]])));
  if (wants(options, "batch")) {
    const ways = [
      ["batches of 1,000 lines", batches, "points/s"],
      ["line protocol, 1,000 lines", lines, "points/s"],
    ] as const;
    figures.push(...(await againstMqtt(options, mqtt50, ways)));
  }
  if (wants(options, "polls")) figures.push(...(await pollFigures(options)));
  return figures;
}

interface Loaded {
  readonly service: Tidemark;
  readonly credentialsFile: string;
}

async function openLoaded(options: BenchOptions): Promise<Loaded> {
  const service = await startTidemark({ dir: options.dir });
  const fleet = await provision(service.api(), devices);
  return { service, credentialsFile: await writeCredentials(options.dir, fleet.devices) };
}

function generatorOf({ service, credentialsFile }: Loaded, way: Way): Promise<Generator> {
  const port = way.protocol === undefined ? service.mqttPort() : service.portOf("http");
  return startGenerator({ ...way, port, credentialsFile });
}

/** Keep-alive at full speed against bare Hono, then at half of its own rate for the latency. */
async function httpFigures(options: BenchOptions): Promise<Figure[]> {
  progress("transports: HTTP, kept alive");
  const loaded = await openLoaded(options);
  const bareName = "bare Hono that answers 204";
  const name = "tidemark HTTP, kept alive";
  const bare = await startBareHono();
  await bare.answer({ name: "kept", status: 204, text: "" });
  const baseGenerator = await startGenerator({
    ...keptAlive,
    port: Number(new URL(bare.http).port),
    requests: { kind: "uplink", path: "/kept" },
  });
  const generator = await generatorOf(loaded, keptAlive);
  let rate = 0;
  const figures = await compareAll(
    [
      async () => ({
        run: async () => [
          figureOf(bareName, "msg/s", await baseGenerator.round({ seconds: options.seconds })),
        ],
        close: async () => undefined,
      }),
      async () => ({
        run: async () => {
          const cpuBefore = cpuSeconds(loaded.service.pid());
          const round = await generator.round({ seconds: options.seconds });
          rate = round.rate;
          return [figureOf(name, "msg/s", round, bareName, cpuSeconds(loaded.service.pid()) - cpuBefore)];
        },
        close: async () => undefined,
      }),
    ],
    options.rounds,
  );
  const half = await generator.round({ seconds: options.seconds, ratePerSecond: rate / 2 });
  figures.push(figureOf("tidemark HTTP at half of its rate", "msg/s", half));
  await Promise.all([generator.close(), baseGenerator.close()]);
  await bare.close();
  await loaded.service.close();
  return figures;
}

async function againstMqtt(
  options: BenchOptions,
  baseline: Way,
  ways: readonly (readonly [string, Way, "msg/s" | "points/s"])[],
): Promise<Figure[]> {
  const loaded = await openLoaded(options);
  const unit = ways[0]?.[2] ?? "msg/s";
  const baseName = `MQTT ${baseline.connections}x${baseline.inflight}`;
  const all = [[baseName, baseline, unit] as const, ...ways];
  const figures = await compareAll(
    all.map(([name, way, each]) => async (): Promise<Contender> => {
      progress(`transports: ${name}`);
      const generator = await generatorOf(loaded, way);
      await generator.round({ seconds: warmUpSeconds });
      return {
        run: async () => {
          await loaded.service.stored();
          const cpuBefore = cpuSeconds(loaded.service.pid());
          const round = await generator.round({ seconds: options.seconds });
          const cpu = cpuSeconds(loaded.service.pid()) - cpuBefore;
          return [figureOf(name, each, round, name === baseName ? undefined : baseName, cpu)];
        },
        close: () => generator.close(),
      };
    }),
    options.rounds,
  );
  await loaded.service.close();
  return figures;
}

function figureOf(
  name: string,
  unit: "msg/s" | "points/s",
  round: RoundResult,
  baseline?: string,
  cpu?: number,
): Figure {
  const { p50, p99, max, errors } = round;
  return {
    name,
    value: round.rate * (unit === "points/s" ? points.length : 1),
    unit,
    ...(baseline === undefined ? {} : { baseline }),
    detail: {
      "p50 ms": p50,
      "p99 ms": p99,
      "max ms": max,
      ...(cpu === undefined ? {} : { "cpu µs/msg": (cpu * 1e6) / Math.max(1, round.acked) }),
      ...(errors > 0 ? { errors } : {}),
    },
  };
}

const pollsOf = { whole: 10_000, quick: 1000 } as const;

/** Devices that wait for a command: what each holds of the service's memory. */
async function pollFigures(options: BenchOptions): Promise<Figure[]> {
  progress("transports: waiting polls");
  const count = options.quick ? pollsOf.quick : pollsOf.whole;
  const environment = { ...probed, HTTP_CONNECTIONS_MAX: String(count + 100) };
  const service = await startTidemark({ dir: options.dir, environment });
  const fleet = await provision(service.api(), count);
  const credentialsFile = await writeCredentials(options.dir, fleet.devices);
  const ours = await memoryOfPolls({
    child: service.child(),
    port: service.portOf("http"),
    credentialsFile,
    count,
    held: async () => {
      while ((await service.metric("tidemark_connections ")) < count)
        await new Promise((next) => setTimeout(next, 200));
    },
  });
  await service.close();
  const { child, port, held } = await startBareHeld(count);
  const bare = await memoryOfPolls({ child, port, credentialsFile, count, held });
  await child.stop();
  const baseline = `bare node:http that holds ${count} requests`;
  return [
    { name: baseline, value: bare.rss / 1e6, unit: "MB", detail: bare.each },
    { name: `${count} waiting polls`, value: ours.rss / 1e6, unit: "MB", baseline, detail: ours.each },
  ];
}

interface Holder {
  readonly child: Child;
  readonly port: number;
  readonly credentialsFile: string;
  readonly count: number;
  /** Resolves once all of them wait. */
  held(): Promise<void>;
}

/** What so many requests that wait take beyond what there was without them. */
async function memoryOfPolls({ child, port, credentialsFile, count, held }: Holder) {
  await (await startPolls({ port, credentialsFile, polls: 200 })).close();
  const before = await settledMemory(child);
  const polls = await startPolls({ port, credentialsFile, polls: count });
  await held();
  const during = await settledMemory(child);
  await polls.close();
  const rss = during.rss - before.rss;
  const heap = during.heapUsed - before.heapUsed;
  return { rss, each: { "KB each": rss / count / 1024, "heap KB each": heap / count / 1024 } };
}
