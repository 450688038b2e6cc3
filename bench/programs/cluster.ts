/** What it costs when the balancer connects a device to a node that does not own its shard. */
import { points, provision, writeCredentials } from "../load/fleet.js";
import { startGenerator } from "../load/generator.js";
import type { LoadOptions } from "../load/load.js";
import type { RoundResult } from "../load/round.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { cpuSeconds } from "../subjects/proc.js";
import type { Tidemark } from "../subjects/tidemark.js";
import { startTwoNodes, twoNumbers } from "../subjects/two-nodes.js";

type Way = Pick<LoadOptions, "connections" | "inflight" | "protocol">;

const ways: Readonly<Record<string, Way>> = {
  "500x1": { connections: 500, inflight: 1 },
  "50x50": { connections: 50, inflight: 50 },
  "HTTP, 128x1": { connections: 128, inflight: 1, protocol: "http" },
};
/** Each of the two nodes owns half of them. */
const devices = 1000;

/** Messages are only journalled and acknowledged, so that the way to the owner is what is measured. */
export async function benchCluster(options: BenchOptions): Promise<Figure[]> {
  const nodes = await startTwoNodes(options.dir);
  const [keeper] = nodes;
  const fleet = await provision(keeper.api(), devices);
  const kept = fleet.devices.filter(({ id }) => id % twoNumbers.length === 0);
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
