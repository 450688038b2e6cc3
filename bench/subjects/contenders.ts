import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../test/free-port.js";
import { startMosquitto } from "../../test/ingest/transports/broker/mosquitto.js";
import { bindRules, type FleetOfDevices, points, provision, writeCredentials } from "../load/fleet.js";
import { type Generator, startGenerator } from "../load/generator.js";
import type { RoundOptions, RoundResult } from "../load/round.js";
import type { Figure } from "../report.js";
import type { Contender } from "../rounds.js";
import { startChild } from "./child.js";
import { cpuSeconds } from "./proc.js";
import { startTidemark, type Tidemark, type TidemarkOptions } from "./tidemark.js";

/** How devices send: so many connections, so many messages in flight on each. */
export interface Shape {
  readonly name: string;
  readonly connections: number;
  readonly inflight: number;
  /** One message each in turn, so many in flight over all. */
  readonly windowMessages?: number;
}

export const shapes: readonly Shape[] = [
  { name: "50x50", connections: 50, inflight: 50 },
  { name: "500x1", connections: 500, inflight: 1 },
  { name: "1x1", connections: 1, inflight: 1 },
  { name: "10000x1", connections: 10_000, inflight: 1, windowMessages: 2_500 },
];

const warmUp: RoundOptions = { seconds: 1 };

/** A broker to compare with: its process and the port that it listens on. */
interface Broker {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The sink, or aedes: a program of `baselines` that prints its port. */
async function startBroker(name: "sink" | "aedes"): Promise<Broker> {
  const child = startChild(`baselines/${name}.js`, []);
  const { port } = (await child.next("event", "listening")) as { port: number };
  return { port, pid: child.pid, stop: () => child.stop() };
}

/** Mosquitto as fast as it goes: all in memory, no bound of messages in flight, a log of its start alone. */
async function startFastMosquitto(dir: string): Promise<Broker> {
  const ownDir = await mkdtemp(join(dir, "mosquitto-"));
  const [port, log] = [await freePort(), ["log_type information", "connection_messages false"]];
  const fast = ["persistence false", "max_inflight_messages 0", "set_tcp_nodelay true", ...log];
  const whole = [`listener ${port} 127.0.0.1`, "allow_anonymous true", ...fast].join("\n");
  const broker = await startMosquitto({ dir: ownDir, port, whole });
  const stop = async () => {
    await broker.stop();
    await rm(ownDir, { recursive: true, force: true });
  };
  return { port, pid: broker.pid(), stop };
}

export async function brokerContender(
  name: "sink" | "aedes" | "mosquitto",
  shape: Shape,
  { dir, seconds }: { readonly dir: string; readonly seconds: number },
): Promise<Contender> {
  const broker = await (name === "mosquitto" ? startFastMosquitto(dir) : startBroker(name));
  const generator = await startGenerator({ port: broker.port, ...shape });
  await generator.round(warmUp);
  return {
    async run() {
      const cpuBefore = cpuSeconds(broker.pid);
      const load = await generator.round({ seconds });
      const baseline = `${shape.name} sink, acked`;
      return [
        ackedFigure(`${shape.name} ${name}, acked`, baseline, load, cpuSeconds(broker.pid) - cpuBefore),
      ];
    },
    async close() {
      await generator.close();
      await broker.stop();
    },
  };
}

/** A running Tidemark with its devices and the generator connected to them. */
export interface LoadedTidemark {
  readonly service: Tidemark;
  readonly fleet: FleetOfDevices;
  readonly generator: Generator;
  /** One round, then waits until all is stored (unless the series consumer is held). */
  measure(round: RoundOptions): Promise<MeasuredRound>;
  close(): Promise<void>;
}

interface MeasuredRound {
  readonly load: RoundResult;
  /** CPU seconds of the service from the first message until all is stored. */
  readonly cpu: number;
  /** Messages a second from the first one sent until all are stored. */
  readonly storedRate: number;
  /** Seconds from the last acknowledgement until all is stored. */
  readonly tailSeconds: number;
}

/** Starts Tidemark and connects a generator; `devices` are registered, as many as connections unless given. */
export async function openLoadedTidemark(
  options: TidemarkOptions,
  shape: Shape,
  devices = shape.connections,
): Promise<LoadedTidemark> {
  const service = await startTidemark(options);
  const fleet = await provision(service.api(), devices);
  if (options.limited) await bindRules(service.api(), fleet.devices);
  const credentialsFile = await writeCredentials(options.dir, fleet.devices.slice(0, shape.connections));
  const generator = await startGenerator({ port: service.mqttPort(), credentialsFile, ...shape });

  async function measure(round: RoundOptions): Promise<MeasuredRound> {
    const cpuBefore = cpuSeconds(service.pid());
    const load = await generator.round(round);
    if (!options.holdSeries) await service.stored();
    const storedAt = performance.timeOrigin + performance.now();
    return {
      load,
      cpu: cpuSeconds(service.pid()) - cpuBefore,
      storedRate: (load.acked * 1000) / (storedAt - load.firstSentAt),
      tailSeconds: Math.max(0, storedAt - load.lastAckedAt) / 1000,
    };
  }
  async function close(): Promise<void> {
    await generator.close();
    await service.close();
  }
  await measure(warmUp);
  return { service, fleet, generator, measure, close };
}

/** Tidemark as a contender: acknowledged messages against aedes, stored points against the bare store. */
export async function tidemarkContender(
  name: string,
  options: TidemarkOptions,
  shape: Shape,
  seconds: number,
  bareStore: string | null,
): Promise<Contender> {
  const tidemark = await openLoadedTidemark(options, shape);
  // What rules and limits cost shows against the same service without.
  const baseline = options.limited ? "tidemark held" : "aedes";
  const ackedBaseline = `${shape.name} ${baseline}, acked`;
  return {
    async run() {
      const { load, cpu, storedRate, tailSeconds } = await tidemark.measure({ seconds });
      const acked = ackedFigure(`${shape.name} tidemark ${name}, acked`, ackedBaseline, load, cpu);
      if (bareStore === null) return [acked];
      const stored: Figure = {
        name: `${shape.name} tidemark ${name}, stored`,
        value: storedRate * points.length,
        unit: "points/s",
        baseline: bareStore,
        detail: { "msg/s": storedRate, "tail s": tailSeconds },
      };
      return [acked, stored];
    },
    close: tidemark.close,
  };
}

function ackedFigure(name: string, baseline: string, load: RoundResult, cpu: number): Figure {
  const { p50, p90, p99, max, errors } = load;
  const cpuUs = (cpu * 1e6) / Math.max(1, load.acked);
  const detail = { "p50 ms": p50, "p90 ms": p90, "p99 ms": p99, "max ms": max, "cpu µs/msg": cpuUs };
  return {
    name,
    value: load.rate,
    unit: "msg/s",
    baseline,
    detail: errors > 0 ? { ...detail, errors } : detail,
  };
}
