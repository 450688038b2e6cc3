import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, numbers, startCluster } from "../../test/cluster/three-nodes.js";
import type { Breakable } from "../../test/cluster/whole-load/breaks.js";
import { startInflux } from "../../test/influxd/influxd.js";
import { startBrokers } from "../../test/kafka/brokers.js";

const shards = 6;
/** As long as the longest pause of a virtual machine that its host moves. */
const frozenMs = 20_000;

/** Three brokers, InfluxDB and three nodes, of which those at `places` may be broken; ended after `use`. */
export async function withClusterOnKafka<T>(
  parent: string,
  places: readonly number[],
  use: (all: Breakable) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(parent, "cluster-"));
  const brokers = await startBrokers(numbers.length, parent);
  const influx = await startInflux();
  let cluster: Cluster | null = null;
  try {
    const journal = `kafka://${brokers.addresses.join()}/bench`;
    cluster = await startCluster(dir, influx, { JOURNAL_URL: journal, JOURNAL_SHARDS: String(shards) });
    return await use({ cluster, dir, brokers, shards, places, frozenMs });
  } finally {
    await cluster?.stop();
    await influx.close();
    await brokers.close();
  }
}
