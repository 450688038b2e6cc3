import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { openJournal } from "../../store/journal/journal.js";
import { openPartition } from "../../store/journal/kafka/partition.js";
import { prepareTopic } from "../../store/journal/kafka/topic.js";
import { keepInLog } from "../../store/journal/replicated/replicated-segments.js";
import { type Brokers, startBrokers } from "../../test/kafka/brokers.js";
import { openBareProducer } from "../baselines/bare-kafka.js";
import { points, provision, writeCredentials } from "../load/fleet.js";
import { startGenerator } from "../load/generator.js";
import { createUplink } from "../load/uplink.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { startTidemark } from "../subjects/tidemark.js";

const messages = 1000;
const messageBytes = 300;
const frameBytesMax = 1 << 20;
const clientID = "bench";
const never = new AbortController().signal;
const bare = "client alone";

/** The journal on three brokers of this machine that flush each frame. */
export async function benchKafka(options: BenchOptions): Promise<Figure[]> {
  const cluster = await startBrokers(3, { parent: options.dir });
  try {
    const figures: Figure[] = [];
    if (wants(options, "frames")) figures.push(...(await frameFigures(cluster, options)));
    for (const [name, way] of Object.entries(ways)) {
      if (!wants(options, name)) continue;
      progress(`kafka: ${name}`);
      figures.push(...(await heldFigures(cluster, name, way, options)));
    }
    return figures;
  } finally {
    await cluster.close();
  }
}

/** Frames of a thousand messages: by the client library alone, through the journal's port, and by the journal. */
async function frameFigures(cluster: Brokers, options: BenchOptions): Promise<Figure[]> {
  const brokers = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const needs = { partitions: 1, replicas: 3, frameBytesMax, acceptsUnflushed: false };
  for (const topic of ["bare", "port", "journal"]) {
    await prepareTopic({ ...needs, brokers, topic, clientID }, never);
  }
  const open = (topic: string) => openPartition({ brokers, topic, partition: 0, clientID, frameBytesMax });
  const producer = openBareProducer(cluster.addresses, "bare");
  const log = open("port");
  const frame = Buffer.alloc(messages * messageBytes);
  for (let i = 0; i < frame.length; i++) frame[i] = (i * 31) % 251;
  const openers = [
    async () => contender(bare, () => producer.append(frame), producer.close, options),
    async () =>
      contender(
        "port",
        () => log.append(frame),
        async () => log.close(),
        options,
      ),
    () => journalContender(open("journal"), options),
  ];
  return compareAll(openers, options.rounds);
}

/** With its head a record takes as many bytes as a message of the frames above. */
const record = createUplink(Buffer.alloc(messageBytes - 86, "x"));

async function journalContender(
  log: ReturnType<typeof openPartition>,
  options: BenchOptions,
): Promise<Contender> {
  const dir = await mkdtemp(join(options.dir, "tidemark-bench-"));
  const keeping = await keepInLog({
    dir,
    log,
    name: { topicID: "bench", partition: 0 },
    claimant: { deployment: "bench", shard: 0, owner: "bench" },
    frameBytesMax,
    now: Date.now,
    onEnded: () => undefined,
    onTrouble: () => undefined,
    signal: never,
  });
  const journal = await openJournal({
    dir,
    keeping,
    shard: 0,
    now: Date.now,
    segmentBytesMax: 64 << 20,
    segmentAgeMaxMs: 3_600_000,
    pendingBytesMax: 64 << 20,
    freeBytesMin: 0,
  });
  const commit = (): Promise<void> =>
    new Promise((resolve) => {
      for (let i = 1; i < messages; i++) journal.append(record);
      journal.append(record, () => resolve());
    });
  const close = async (): Promise<void> => {
    await journal.close();
    await rm(dir, { recursive: true, force: true });
  };
  return contender("journal", commit, close, options);
}

const ways = {
  "500x1": { connections: 500, inflight: 1 },
  "50x50": { connections: 50, inflight: 50 },
} as const;

/** The service, which journals and acknowledges only: on its own disk, and on the brokers with a few shards or one. */
async function heldFigures(
  cluster: Brokers,
  name: string,
  way: (typeof ways)[keyof typeof ways],
  options: BenchOptions,
): Promise<Figure[]> {
  const local = `${name}, on its disk`;
  const opener = (what: string, shards: number | null) => async (): Promise<Contender> => {
    const topic = `held-${name}-${shards}`;
    const environment =
      shards === null
        ? {}
        : { JOURNAL_URL: `kafka://${cluster.addresses.join()}/${topic}`, JOURNAL_SHARDS: String(shards) };
    // Nothing is written there.
    const influx = { url: "http://127.0.0.1:9", token: "none", org: "none", bucket: "none" };
    const service = await startTidemark({ dir: options.dir, influx, holdSeries: true, environment });
    const fleet = await provision(service.api(), 500);
    const credentialsFile = await writeCredentials(options.dir, fleet.devices);
    const generator = await startGenerator({ ...way, port: service.mqttPort(), credentialsFile });
    await generator.round({ seconds: 2 });
    return {
      run: async () => {
        const { rate, p50, p99, errors } = await generator.round({ seconds: options.seconds });
        const detail = { p50, p99, errors, points: points.length };
        const figure = { name: what, value: rate, unit: "msg/s", detail };
        return [shards === null ? figure : { ...figure, baseline: local }];
      },
      close: async () => {
        await generator.close();
        await service.close();
      },
    };
  };
  const openers = [
    opener(local, null),
    opener(`${name}, on brokers, 1 shard`, 1),
    opener(`${name}, on brokers, 6 shards`, 6),
  ];
  return compareAll(openers, options.rounds);
}

async function contender(
  name: string,
  append: () => Promise<unknown>,
  close: () => Promise<void>,
  { seconds }: BenchOptions,
): Promise<Contender> {
  // The first ones find the leader, and warm up both sides.
  for (let i = 0; i < 50; i++) await append();
  return {
    run: async () => {
      const latencies: number[] = [];
      const started = performance.now();
      const end = started + seconds * 1000;
      for (let before = started; before < end; ) {
        await append();
        const now = performance.now();
        latencies.push(now - before);
        before = now;
      }
      const tookMs = performance.now() - started;
      latencies.sort((a, b) => a - b);
      const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? 0;
      const detail = { frames: latencies.length, "p50 ms": at(0.5), "p99 ms": at(0.99) };
      const value = (latencies.length * messages * 1000) / tookMs;
      return [{ name, value, unit: "messages/s", baseline: bare, detail }];
    },
    close,
  };
}
