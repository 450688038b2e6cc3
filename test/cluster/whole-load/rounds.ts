/** Rounds of breaks under a whole load, and the count at its end. */
import { setTimeout as pause } from "node:timers/promises";
import type { RunningService } from "../../flow/support.js";
import { until } from "../../suite.js";
import { startBalancer } from "../balancer.js";
import { untilSharedOut } from "../three-nodes.js";
import { type Breakable, type BreakName, breaks } from "./breaks.js";
import { type Counted, count } from "./count.js";
import { startWholeLoad, type WholeLoad } from "./load.js";

export interface Round {
  readonly broken: BreakName;
  /** By publishing device: the longest time without an acknowledgement, ms. */
  readonly pausesMs: readonly number[];
}

interface Options extends Breakable {
  readonly messagesPerSecond: number;
  /** How long all runs before each break, ms. */
  readonly quietMs: number;
  /** Called at the end of each round. */
  readonly onRound?: (round: Round) => void;
}

const publishers = 9;
const listeners = 4;

/** @throws where a device does not get on again, or the count is wrong */
export async function breakInRounds(
  names: Iterable<BreakName>,
  options: Options,
): Promise<{ readonly rounds: readonly Round[]; readonly counted: Counted }> {
  const { cluster, shards, quietMs, messagesPerSecond, onRound } = options;
  // What moves at the start would count as what the first break does.
  await untilSharedOut(cluster, shards);
  const mqttHosts = (): readonly string[] => cluster.nodes.map(({ mqtt }) => new URL(mqtt).host);
  const balancer = await startBalancer(mqttHosts);
  let turn = 0;
  const anyNode = (): RunningService => cluster.nodes[turn++ % cluster.nodes.length] as RunningService;
  const address = `mqtt://127.0.0.1:${balancer.port}`;
  const load = await startWholeLoad({ address, anyNode, publishers, listeners, messagesPerSecond });
  const rounds: Round[] = [];
  for (const broken of names) {
    await goesOn(load);
    for (const one of load.publishing) one.longestPause();
    await load.commanding.beginRound();
    await pause(quietMs);
    await breaks[broken](options, rounds.length);
    await goesOn(load);
    await areShown(load, anyNode);
    const round = { broken, pausesMs: load.publishing.map((one) => one.longestPause()) };
    rounds.push(round);
    onRound?.(round);
  }
  await load.end();
  for (const node of cluster.nodes) await node.settled();
  const counted = await count(load, anyNode);
  await balancer.close();
  return { rounds, counted };
}

/** Resolves once each device has had acknowledgements again. */
async function goesOn({ publishing }: WholeLoad): Promise<void> {
  const before = publishing.map(({ publisher }) => publisher.acknowledged.size);
  const goesOnAt = (place: number): boolean =>
    (publishing[place]?.publisher.acknowledged.size ?? 0) > (before[place] ?? 0) + 1;
  await until(() => publishing.every((_, place) => goesOnAt(place)), { what: "every device to go on" });
}

/** Resolves once the list of devices shows each as connected: what a former holder of its shard knew counts no more. */
async function areShown({ publishing }: WholeLoad, anyNode: () => RunningService): Promise<void> {
  const ids = publishing.map(({ device }) => device.id);
  const isShown = async (id: unknown): Promise<boolean> =>
    (await anyNode().call("GET", `/api/v1/devices/${id}`)).body.deviceStatus === 1;
  await until(async () => (await Promise.all(ids.map(isShown))).every(Boolean), {
    what: "every device to be shown as connected",
  });
}
