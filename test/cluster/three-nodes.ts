/** Three services that are one cluster: shared metadata and points, a data folder and a number for each. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type RunningService, startServiceAt } from "../flow/support.js";
import { freePort } from "../free-port.js";
import type { InfluxServer } from "../influxd/influxd.js";
import { here, type Place } from "../networks/networks.js";
import { until } from "../suite.js";
import type { Rec } from "../world.js";

export const numbers = [1, 2, 5] as const;

export interface Cluster {
  /** Has the shared metadata, and the folder of each node. */
  readonly dir: string;
  readonly nodes: readonly RunningService[];
  /** In the order of `numbers`. */
  readonly ports: readonly number[];
  readonly masterKey: Uint8Array;
  readonly apiKey: string;
  /** What the node of this place was started with, but for its DATA_DIR. */
  environmentOf(place: number): Readonly<Record<string, string>>;
  /** Starts the node of this place again, with these settings besides. */
  start(place: number, more?: Readonly<Record<string, string>>): Promise<RunningService>;
  stop(): Promise<void>;
}

interface ClusterOptions {
  /** Settings of the node of a place, besides those that all have. */
  readonly own?: (place: number) => Readonly<Record<string, string>>;
  /** Where each of them runs; default here. */
  readonly places?: readonly Place[];
}

/** @param environment of all nodes */
export async function startCluster(
  dir: string,
  influx: InfluxServer,
  environment: Readonly<Record<string, string>> = {},
  { own = () => ({}), places = numbers.map(() => here) }: ClusterOptions = {},
): Promise<Cluster> {
  const ports = await Promise.all(numbers.map(freePort));
  const masterKey = randomBytes(32);
  const apiKey = `cluster:${randomBytes(16).toString("hex")}`;
  const shared = {
    LIBSQL_URL: `file:${join(dir, "metadata.db")}`,
    MASTER_KEY: masterKey.toString("hex"),
    API_KEY: apiKey,
    INFLUX_URL: influx.url,
    INFLUX_TOKEN: influx.token,
    INFLUX_ORG: influx.org,
    INFLUX_BUCKET: influx.bucket,
    CLUSTER_NODES: numbers.map((number, place) => `${number}@${places[place]?.host}:${ports[place]}`).join(),
    ...environment,
  };
  const environmentOf = (place: number) => ({
    ...shared,
    ...own(place),
    NODE_NUMBER: String(numbers[place]),
  });
  const nodes: RunningService[] = [];
  const start: Cluster["start"] = async (place, more = {}) => {
    const dataDir = join(dir, `node-${place}`);
    await mkdir(dataDir, { recursive: true });
    const service = await startServiceAt(places[place] ?? here, dataDir, {
      ...environmentOf(place),
      ...more,
    });
    nodes[place] = service;
    return service;
  };
  // One after the other: the first makes the metadata.
  for (const place of numbers.keys()) await start(place);
  return {
    dir,
    nodes,
    ports,
    masterKey,
    apiKey,
    environmentOf,
    start,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** Resolves once the nodes of a cluster that has just started have given each other their shares. */
export async function untilSharedOut({ nodes }: Cluster, shards: number): Promise<void> {
  const said = ({ logged }: RunningService, text: string): number =>
    logged.filter(({ msg }) => msg === text).length;
  const isShare = (held: number): boolean =>
    held >= Math.floor(shards / nodes.length) && held <= Math.ceil(shards / nodes.length);
  const isShared = (node: RunningService): boolean =>
    isShare(said(node, "a shard is open") - said(node, "a shard is closed"));
  await until(() => nodes.every(isShared), { what: "nodes that have their shares" });
}

/** Who is where, once the cluster has started: places are those of `numbers`, and go round. */
export function placesOf(cluster: () => Cluster, devices: () => readonly Rec[]) {
  /** Nodes have the shards in the order of their numbers. */
  const keeperPlace = (device: Rec): number => device.id % numbers.length;
  return {
    nodeAt: (place: number) => cluster().nodes[place % numbers.length] as RunningService,
    keeperPlace,
    /** A device whose owner is the node at that place. */
    keptAt: (place: number) => devices().find((one) => keeperPlace(one) === place) as Rec,
  };
}
