import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startInflux } from "../../influxd/influxd.js";
import { startBrokers } from "../../kafka/brokers.js";
import { networksMissing } from "../../networks/networks.js";
import { openClusterNetworks } from "../cluster-networks.js";
import { type Cluster, numbers, startCluster } from "../three-nodes.js";
import type { Breakable } from "./breaks.js";

const shards = 6;

interface Options extends Pick<Breakable, "frozenMs">, Partial<Pick<Breakable, "places">> {
  /** The folder of all that is written. */
  readonly parent?: string;
}

/**
 * Three brokers, InfluxDB and three nodes, ended after `use`; the nodes at `places` may be broken, by default all. Each
 * node and each broker has a network of its own where there can be such.
 */
export async function withClusterOnKafka<T>(
  { parent = tmpdir(), places = [...numbers.keys()], frozenMs }: Options,
  use: (all: Breakable) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(parent, "cluster-"));
  const networks = networksMissing() === undefined ? await openClusterNetworks() : null;
  const ofBrokers = networks === null ? {} : { places: networks.ofBrokers };
  const brokers = await startBrokers(numbers.length, { parent, loseUnsynced: true, ...ofBrokers });
  const influx = await startInflux(networks?.networks.host);
  let cluster: Cluster | null = null;
  try {
    const environment = {
      JOURNAL_URL: `kafka://${brokers.addresses.join()}/whole-load`,
      JOURNAL_SHARDS: String(shards),
    };
    const ofNodes = networks === null ? {} : { places: networks.ofNodes };
    cluster = await startCluster(dir, influx, environment, ofNodes);
    return await use({ cluster, dir, brokers, networks, shards, places, frozenMs });
  } finally {
    await cluster?.stop();
    await influx.close();
    await brokers.close();
    await networks?.networks.close();
    await rm(dir, { recursive: true });
  }
}
