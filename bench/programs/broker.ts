import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { brokerMissing, startMosquitto } from "../../test/ingest/transports/broker/mosquitto.js";
import type { BareOptions } from "../baselines/bare-mqtt.js";
import { provision } from "../load/fleet.js";
import { startGenerator } from "../load/generator.js";
import type { RoundResult } from "../load/round.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { startChild } from "../subjects/child.js";
import { cpuSeconds } from "../subjects/proc.js";
import { startTidemark } from "../subjects/tidemark.js";

const shape = { connections: 20, inflight: 50 } as const;
const bare = "MQTT.js that only reads";
/** About what a commit takes. */
const commitMs = 2;
const poolConnections = 16;

/**
 * Messages a second through Mosquitto, from the first one published until the last is acknowledged and stored,
 * against MQTT.js that reads the same topic and does nothing with it. Each reader has a broker of its own.
 */
export async function benchBroker(options: BenchOptions): Promise<Figure[]> {
  const missing = brokerMissing();
  if (missing !== null) throw new Error(missing);
  const pool = `MQTT.js × ${poolConnections}, each message held ${commitMs} ms`;
  return compareAll(
    [
      () => bareContender(bare, options, { filter: "devices/+/up/#", connections: 1, holdMs: 0 }),
      () => tidemarkContender(options),
      () =>
        bareContender(pool, options, {
          filter: "$share/b/devices/+/up/#",
          connections: poolConnections,
          holdMs: commitMs,
        }),
    ],
    options.rounds,
  );
}

interface Reader {
  readonly pid: () => number;
  /** Resolves with the time when so many more have been dealt with, milliseconds since 1970. */
  dealtWith(messages: number): Promise<number>;
  close(): Promise<void>;
}

async function contender(
  name: string,
  seconds: number,
  load: { readonly port: number; readonly deviceID: string },
  reader: Reader,
): Promise<Contender> {
  const { port, deviceID } = load;
  const generator = await startGenerator({ port, ...shape, topic: `devices/${deviceID}/up/telemetry` });

  async function round(length: number): Promise<{ load: RoundResult; rate: number; cpu: number }> {
    const cpuBefore = cpuSeconds(reader.pid());
    const result = await generator.round({ seconds: length });
    const at = await reader.dealtWith(result.acked);
    const rate = (result.acked * 1000) / (at - result.firstSentAt);
    return { load: result, rate, cpu: cpuSeconds(reader.pid()) - cpuBefore };
  }

  await round(1);
  return {
    run: async () => {
      const { load: result, rate, cpu } = await round(seconds);
      const cpuUs = (cpu * 1e6) / Math.max(1, result.acked);
      const detail = { messages: result.acked, "cpu µs/msg": cpuUs };
      return [{ name, value: rate, unit: "msg/s", baseline: bare, detail }];
    },
    close: async () => {
      await generator.close();
      await reader.close();
    },
  };
}

async function bareContender(
  name: string,
  { dir, seconds }: BenchOptions,
  options: Omit<BareOptions, "url">,
): Promise<Contender> {
  const broker = await startMosquitto({ dir: await mkdtemp(join(dir, "broker-")) });
  const child = startChild("baselines/bare-mqtt.js", [JSON.stringify({ ...options, url: broker.url })]);
  await child.next("event", "listening");
  return contender(
    name,
    seconds,
    { port: broker.port, deviceID: "bench" },
    {
      pid: () => child.pid,
      dealtWith: async (messages) => {
        const read = child.next("event", "read");
        child.write({ messages });
        return Number((await read).at);
      },
      close: async () => {
        await child.stop();
        await broker.stop();
      },
    },
  );
}

async function tidemarkContender({ dir, seconds }: BenchOptions): Promise<Contender> {
  const broker = await startMosquitto({ dir: await mkdtemp(join(dir, "broker-")) });
  const service = await startTidemark({ dir, environment: { BROKER_URL: broker.url } });
  const fleet = await provision(service.api(), 1);
  let dealt = 0;
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  while ((await service.metric("tidemark_broker_connections ")) === 0) await pause();
  return contender(
    "tidemark, acknowledged and stored",
    seconds,
    { port: broker.port, deviceID: fleet.devices[0]?.deviceID ?? "" },
    {
      pid: service.pid,
      dealtWith: async (messages) => {
        dealt += messages;
        while ((await service.metric("tidemark_broker_messages_total")) < dealt) await pause();
        while ((await service.metric("tidemark_journal_pending_bytes")) > 0) await pause();
        await service.stored();
        return performance.timeOrigin + performance.now();
      },
      close: async () => {
        await service.close();
        await broker.stop();
      },
    },
  );
}
