/** What a message costs the parts of a cluster on Kafka, and what so many machines carry by the model. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openDb } from "../../store/metadata/db/db.js";
import { startInflux } from "../../test/influxd/influxd.js";
import { startBrokers } from "../../test/kafka/brokers.js";
import { provision, writeCredentials } from "../load/fleet.js";
import { type Generator, startGenerator } from "../load/generator.js";
import {
  type ClusterCosts,
  type Cost,
  carriedBy,
  costBetween,
  firstWall,
  type Machines,
} from "../models/cluster.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { cpuSeconds, mainThreadSeconds } from "../subjects/proc.js";
import { startTidemark } from "../subjects/tidemark.js";
import { startTwoNodes, twoNumbers } from "../subjects/two-nodes.js";

/** Far below what two processors carry with all parts on them, so that nothing waits for another. */
const rates = { slow: 1500, fast: 6000 } as const;
const connections = 500;
const inflight = 1;
const shards = 6;
const clusters: readonly Machines[] = [
  { nodes: 1, brokers: 3, influxes: 1, processors: 4 },
  { nodes: 3, brokers: 3, influxes: 1, processors: 4 },
  { nodes: 6, brokers: 3, influxes: 2, processors: 4 },
  { nodes: 12, brokers: 6, influxes: 4, processors: 4 },
  { nodes: 24, brokers: 12, influxes: 8, processors: 4 },
];

export async function benchSizing(options: BenchOptions): Promise<Figure[]> {
  progress("sizing: the owner, the brokers, InfluxDB");
  const kept = await costsOfParts(options);
  progress("sizing: the way by another node");
  const costs: ClusterCosts = { ...kept, hop: await costOfHop(options) };
  progress("sizing: metadata");
  const { node, mainThread, hop, broker, influx } = costs;
  return [
    { name: "node", value: node.perMessage, unit: "µs a message", detail: { "busy anyway": node.base } },
    against("its main thread", mainThread),
    against("another node on the way, both", { perMessage: hop.node, base: 0 }),
    against("their main threads", { perMessage: hop.mainThread, base: 0 }),
    against("one broker of three", broker),
    against("InfluxDB", influx),
    { name: "metadata writes", value: await metadataWrites(options), unit: "a second" },
    ...clusters.map((machines) => modelFigure(costs, machines)),
  ];
}

const against = (name: string, { perMessage, base }: Cost): Figure => ({
  name,
  value: perMessage,
  unit: "µs a message",
  baseline: "node",
  detail: { "busy anyway": base },
});

const nameOf = ({ nodes, brokers, influxes }: Machines): string =>
  `nodes ${nodes}, brokers ${brokers}, InfluxDBs ${influxes}`;

function modelFigure(costs: ClusterCosts, machines: Machines): Figure {
  const carried = carriedBy(costs, machines);
  const wall = firstWall(carried);
  const [first] = clusters;
  return {
    name: nameOf(machines),
    value: carried[wall],
    unit: "msg/s by the model",
    ...(first === undefined || machines === first ? {} : { baseline: nameOf(first) }),
    detail: { ...carried, wall },
  };
}

/** What each of the processes or threads that `read` knows costs, from rounds at two rates. */
async function costsOf(
  { seconds }: BenchOptions,
  generator: Generator,
  read: () => readonly number[],
): Promise<Cost[]> {
  const busyAt = async (ratePerSecond: number) => {
    await generator.round({ seconds: 2, ratePerSecond });
    const before = read();
    const { rate } = await generator.round({ seconds, ratePerSecond });
    return read().map((now, i) => ({ rate, busy: (now - (before[i] ?? 0)) / seconds }));
  };
  const slow = await busyAt(rates.slow);
  const fast = await busyAt(rates.fast);
  return slow.map((one, i) => costBetween(one, fast[i] as typeof one));
}

async function costsOfParts(options: BenchOptions): Promise<Omit<ClusterCosts, "hop">> {
  const brokers = await startBrokers(3, { parent: options.dir });
  const influx = await startInflux();
  try {
    const environment = {
      JOURNAL_URL: `kafka://${brokers.addresses.join()}/sizing`,
      JOURNAL_SHARDS: String(shards),
    };
    const service = await startTidemark({ dir: options.dir, influx, environment });
    const fleet = await provision(service.api(), connections);
    const credentialsFile = await writeCredentials(options.dir, fleet.devices);
    const generator = await startGenerator({
      connections,
      inflight,
      port: service.mqttPort(),
      credentialsFile,
    });
    const atBrokers = (): number => brokers.nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid ?? 0), 0);
    const [mainThread, node, broker, atInflux] = (await costsOf(options, generator, () => [
      mainThreadSeconds(service.pid()),
      cpuSeconds(service.pid()),
      atBrokers() / brokers.nodes.length,
      cpuSeconds(influx.pid ?? 0),
    ])) as [Cost, Cost, Cost, Cost];
    await generator.close();
    await service.close();
    return { node, mainThread, broker, influx: atInflux };
  } finally {
    await influx.close();
    await brokers.close();
  }
}

/** Measures both nodes together, beyond what the owner alone takes. */
async function costOfHop(options: BenchOptions): Promise<ClusterCosts["hop"]> {
  const nodes = await startTwoNodes(options.dir);
  const [keeper, other] = nodes;
  const fleet = await provision(keeper.api(), connections * twoNumbers.length);
  const kept = fleet.devices.filter(({ id }) => id % twoNumbers.length === 0);
  const credentialsFile = await writeCredentials(options.dir, kept);
  const measure = async (port: number): Promise<[mainThreads: Cost, nodes: Cost]> => {
    const generator = await startGenerator({ connections, inflight, port, credentialsFile });
    const costs = await costsOf(options, generator, () => [
      nodes.reduce((sum, node) => sum + mainThreadSeconds(node.pid()), 0),
      nodes.reduce((sum, node) => sum + cpuSeconds(node.pid()), 0),
    ]);
    await generator.close();
    return costs as [Cost, Cost];
  };
  const [main, all] = await measure(keeper.mqttPort());
  const [mainBy, allBy] = await measure(other.mqttPort());
  for (const node of nodes) await node.close();
  return { mainThread: mainBy.perMessage - main.perMessage, node: allBy.perMessage - all.perMessage };
}

/** Counts writes of one row each, one after the other, into a file that processes share. */
async function metadataWrites({ dir, seconds }: BenchOptions): Promise<number> {
  const db = await openDb({ url: pathToFileURL(join(dir, "writes.db")).href, shared: true });
  const upsert = `insert into cluster_node (number, owner, beat, leaving) values (1, 'bench', 0, 0)
    on conflict (number) do update set beat = beat + 1`;
  let writes = 0;
  const started = performance.now();
  while (performance.now() - started < seconds * 1000) {
    await db.write([{ sql: upsert, args: [] }]);
    writes++;
  }
  const took = (performance.now() - started) / 1000;
  await db.close();
  return writes / took;
}
