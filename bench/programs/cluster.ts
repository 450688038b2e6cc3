/** What it costs a device that a cluster's balancer has brought to another node than its keeper. */
import { join } from "node:path";
import { freePort } from "../../test/free-port.js";
import { points, provision, writeCredentials } from "../load/fleet.js";
import { startGenerator } from "../load/generator.js";
import type { LoadOptions } from "../load/load.js";
import type { RoundResult } from "../load/round.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { cpuSeconds } from "../subjects/proc.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

type Way = Pick<LoadOptions, "connections" | "inflight" | "protocol">;

const ways: Readonly<Record<string, Way>> = {
  "500x1": { connections: 500, inflight: 1 },
  "50x50": { connections: 50, inflight: 50 },
  "HTTP, 128x1": { connections: 128, inflight: 1, protocol: "http" },
};
/** Of two nodes each keeps half. */
const devices = 1000;
const numbers = [1, 2] as const;

/** Journal and acknowledge only: the way to the keeper is what is measured. */
export async function benchCluster(options: BenchOptions): Promise<Figure[]> {
  const nodes = await startTwo(options.dir);
  const [keeper] = nodes;
  const fleet = await provision(keeper.api(), devices);
  const kept = fleet.devices.filter(({ id }) => id % numbers.length === 0);
  const credentialsFile = await writeCredentials(options.dir, kept);
  const figures: Figure[] = [];
  for (const [name, way] of Object.entries(ways)) {
    if (!wants(options, name)) continue;
    progress(`cluster: ${name}`);
    figures.push(...(await hopFigures(options, nodes, name, way, credentialsFile)));
  }
  for (const node of nodes) await node.close();
  return figures;
}

async function startTwo(dir: string): Promise<readonly [Tidemark, Tidemark]> {
  const ports = await Promise.all(numbers.map(freePort));
  const shared = {
    LIBSQL_URL: `file:${join(dir, "cluster.db")}`,
    MASTER_KEY: "7".repeat(64),
    CLUSTER_NODES: numbers.map((number, i) => `${number}@127.0.0.1:${ports[i]}`).join(),
  };
  // Nothing is written there.
  const influx = { url: "http://127.0.0.1:9", token: "none", org: "none", bucket: "none" };
  const start = (number: number, own: Readonly<Record<string, string>> = {}): Promise<Tidemark> =>
    startTidemark({
      dir,
      influx,
      holdSeries: true,
      environment: { ...shared, NODE_NUMBER: String(number), ...own },
    });
  const first = await start(1);
  // Each start makes sure of its key: they have the same.
  const [, key = ""] = first.authorization.split(" ");
  return [first, await start(2, { API_KEY: Buffer.from(key, "base64").toString() })];
}

function hopFigures(
  options: BenchOptions,
  nodes: readonly [Tidemark, Tidemark],
  name: string,
  way: Way,
  credentialsFile: string,
): Promise<Figure[]> {
  const [keeper, other] = nodes;
  const direct = `${name}, at its keeper`;
  const contender = async (what: string, node: Tidemark, baseline?: string): Promise<Contender> => {
    const port = way.protocol === undefined ? node.mqttPort() : node.portOf("http");
    const generator = await startGenerator({ ...way, port, credentialsFile });
    await generator.round({ seconds: 2 });
    return {
      run: async () => {
        const before = nodes.map((one) => cpuSeconds(one.pid()));
        const round = await generator.round({ seconds: options.seconds });
        const cpu = nodes.reduce((sum, one, i) => sum + cpuSeconds(one.pid()) - (before[i] ?? 0), 0);
        return [figureOf(what, round, cpu, baseline)];
      },
      close: () => generator.close(),
    };
  };
  return compareAll(
    [() => contender(direct, keeper), () => contender(`${name}, by the other node`, other, direct)],
    options.rounds,
  );
}

function figureOf(name: string, round: RoundResult, cpu: number, baseline: string | undefined): Figure {
  const { rate, acked, p50, p99, errors } = round;
  const detail = { "cpu µs/msg": Math.round((cpu / acked) * 1e6), p50, p99, errors, points: points.length };
  return { name, value: rate, unit: "msg/s", detail, ...(baseline === undefined ? {} : { baseline }) };
}
