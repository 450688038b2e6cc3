/** What is done to a cluster under load, each in one round. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { RunningService } from "../../flow/support.js";
import type { Brokers } from "../../kafka/brokers.js";
import type { Place } from "../../networks/networks.js";
import { until } from "../../suite.js";
import type { ClusterNetworks } from "../cluster-networks.js";
import { type Cluster, numbers } from "../three-nodes.js";

export interface Breakable {
  readonly cluster: Cluster;
  /** The folder that has those of the nodes. */
  readonly dir: string;
  /** Null: nobody can be cut off. */
  readonly networks: ClusterNetworks | null;
  /** On disks that lose what was not synced. */
  readonly brokers: Brokers;
  readonly shards: number;
  /** Places of the nodes that may be broken. */
  readonly places: readonly number[];
  /** How long what is frozen or cut off stays so, ms. */
  readonly frozenMs: number;
}

/** Resolves once all runs again. `round` says whose turn it is. */
type Break = (all: Breakable, round: number) => Promise<void>;

const nothingMs = 5000;
const quorumLostMs = 5000;

const placeOf = ({ places }: Breakable, round: number): number => places[round % places.length] as number;
const nodeAt = ({ cluster }: Breakable, place: number): RunningService =>
  cluster.nodes[place] as RunningService;
const brokerOf = ({ brokers }: Breakable, round: number): Brokers["nodes"][number] =>
  brokers.nodes[round % brokers.nodes.length] as Brokers["nodes"][number];

async function killNode(all: Breakable, round: number): Promise<void> {
  const place = placeOf(all, round);
  await nodeAt(all, place).kill();
  await all.cluster.start(place);
}

/** As on another machine: it comes back with an empty folder. */
async function replaceNode(all: Breakable, round: number): Promise<void> {
  const place = placeOf(all, round);
  await nodeAt(all, place).kill();
  await rm(join(all.dir, `node-${place}`), { recursive: true });
  await all.cluster.start(place);
}

async function restartNode(all: Breakable, place: number): Promise<void> {
  await nodeAt(all, place).stop();
  const node = await all.cluster.start(place);
  const share = Math.floor(all.shards / numbers.length);
  const opened = (): number => node.logged.filter(({ msg }) => msg === "a shard is open").length;
  await until(() => opened() >= share, { what: "a node that has its shards again" });
}

async function killBroker(all: Breakable, round: number): Promise<void> {
  await brokerOf(all, round).kill();
  await brokerOf(all, round).start();
}

/** Packets between it and the others vanish for a while; its clients still reach it. */
async function cutOff(
  { networks, frozenMs }: Breakable,
  parted: (all: ClusterNetworks) => readonly [one: Place | undefined, others: readonly Place[]],
): Promise<void> {
  if (networks === null) throw new Error("the cluster has no networks that can be cut");
  const [one, others] = parted(networks);
  if (one === undefined) throw new Error("there is no such place");
  await networks.networks.part(
    [one],
    others.filter((other) => other !== one),
  );
  await pause(frozenMs);
  await networks.networks.heal();
}

export const breaks = {
  nothing: () => pause(nothingMs),
  "node killed": killNode,
  "node replaced": replaceNode,
  "node restarted in order": (all, round) => restartNode(all, placeOf(all, round)),
  "all nodes restarted in turn": async (all) => {
    for (const place of all.places) await restartNode(all, place);
  },
  "all nodes killed": async (all) => {
    await Promise.all(all.places.map((place) => nodeAt(all, place).kill()));
    await Promise.all(all.places.map((place) => all.cluster.start(place)));
  },
  "node frozen": async (all, round) => {
    const node = nodeAt(all, placeOf(all, round));
    node.signal("SIGSTOP");
    await pause(all.frozenMs);
    node.signal("SIGCONT");
  },
  "node cut off": (all, round) =>
    cutOff(all, ({ ofNodes, ofBrokers }) => [ofNodes[placeOf(all, round)], [...ofNodes, ...ofBrokers]]),
  "node cut off from nodes": (all, round) =>
    cutOff(all, ({ ofNodes }) => [ofNodes[placeOf(all, round)], ofNodes]),
  "broker cut off": (all, round) =>
    cutOff(all, ({ ofNodes, ofBrokers }) => [
      ofBrokers[round % ofBrokers.length],
      [...ofNodes, ...ofBrokers],
    ]),
  "broker killed": killBroker,
  "broker frozen": async (all, round) => {
    const broker = brokerOf(all, round);
    broker.freeze();
    await pause(all.frozenMs);
    broker.thaw();
  },
  "broker without power": async (all, round) => {
    await brokerOf(all, round).cutPower();
    await brokerOf(all, round).start();
  },
  "all brokers without power": async ({ brokers: { nodes } }) => {
    await Promise.all(nodes.map((node) => node.cutPower()));
    await Promise.all(nodes.map((node) => node.start()));
  },
  "node and broker killed": async (all, round) => {
    await Promise.all([killNode(all, round), killBroker(all, round)]);
  },
  "two brokers killed": async (all, round) => {
    const both = [brokerOf(all, round), brokerOf(all, round + 1)];
    await Promise.all(both.map((broker) => broker.kill()));
    await pause(quorumLostMs);
    await Promise.all(both.map((broker) => broker.start()));
  },
} satisfies Record<string, Break>;

export type BreakName = keyof typeof breaks;

/** Those that need networks. */
export const cuts: readonly BreakName[] = ["node cut off", "node cut off from nodes", "broker cut off"];
