import { openPartition } from "../../store/journal/kafka/partition.js";
import { prepareTopic } from "../../store/journal/kafka/topic.js";
import { startBrokers } from "../../test/kafka/brokers.js";
import { openBareProducer } from "../baselines/bare-kafka.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";

const messages = 1000;
const messageBytes = 300;
const frameBytesMax = 1 << 20;

/**
 * Frames of a thousand messages acknowledged by three brokers of this machine that flush each of them: through the
 * journal's port, and by the client library alone.
 */
export async function benchKafka(options: BenchOptions): Promise<Figure[]> {
  const cluster = await startBrokers(3, options.dir);
  try {
    const brokers = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
    const needs = { partitions: 1, replicas: 3, frameBytesMax, acceptsUnflushed: false };
    const clientID = "bench";
    for (const topic of ["bare", "port"]) {
      await prepareTopic({ ...needs, brokers, topic, clientID }, new AbortController().signal);
    }
    const log = openPartition({ brokers, topic: "port", partition: 0, clientID, frameBytesMax });
    const bare = openBareProducer(cluster.addresses, "bare");
    const openers = [
      async () => contender("client alone", bare.append, bare.close, options),
      async () => contender("port", log.append, async () => log.close(), options),
    ];
    return await compareAll(openers, options.rounds);
  } finally {
    await cluster.close();
  }
}

async function contender(
  name: string,
  append: (frame: Buffer) => Promise<unknown>,
  close: () => Promise<void>,
  { seconds }: BenchOptions,
): Promise<Contender> {
  const frame = Buffer.alloc(messages * messageBytes);
  for (let i = 0; i < frame.length; i++) frame[i] = (i * 31) % 251;
  // The first ones find the leader, and warm up both sides.
  for (let i = 0; i < 50; i++) await append(frame);
  return {
    run: async () => {
      const latencies: number[] = [];
      const started = performance.now();
      const end = started + seconds * 1000;
      for (let before = started; before < end; ) {
        await append(frame);
        const now = performance.now();
        latencies.push(now - before);
        before = now;
      }
      const tookMs = performance.now() - started;
      latencies.sort((a, b) => a - b);
      const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0;
      const detail = { frames: latencies.length, "p50 ms": at(0.5), "p99 ms": at(0.99) };
      const value = (latencies.length * messages * 1000) / tookMs;
      return [{ name, value, unit: "messages/s", baseline: "client alone", detail }];
    },
    close,
  };
}
