/**
 * What a cluster on Kafka carries, from what its parts cost. Assumptions: connections come to any node alike, and
 * devices are spread evenly over shards, shards over nodes, partitions over brokers, devices over InfluxDBs; what a part
 * costs grows in a line with its messages, as between the two rates that were measured; a node's main thread is one
 * processor, everything else is spread over all; the network is no limit.
 */

/** What one machine or thread spends. */
export interface Cost {
  /** Processors that are busy with work that does not grow with messages: timers, frames that go out anyway. */
  readonly base: number;
  /** Microseconds of a processor for each message. */
  readonly perMessage: number;
}

export interface ClusterCosts {
  /** A node, for messages of the devices that it keeps. */
  readonly node: Cost;
  readonly mainThread: Cost;
  /** What one more node on the way costs per message, at both nodes together. */
  readonly hop: { readonly node: number; readonly mainThread: number };
  /** A broker, for each message of the cluster where there are three. */
  readonly broker: Cost;
  readonly influx: Cost;
}

/** Where three brokers keep three replicas, each has every message. */
const replicas = 3;

export interface Machines {
  readonly nodes: number;
  readonly brokers: number;
  readonly influxes: number;
  /** Processors of each machine. */
  readonly processors: number;
}

/** Messages a second that each part carries. */
interface Carried {
  readonly nodes: number;
  readonly brokers: number;
  readonly influx: number;
}

/**
 * How busy a processor may be. Random arrivals at a server that is busy for this share of its time wait
 * share / (2 (1 − share)) service times in the mean (M/D/1, Pollaczek and Khinchine): 0.75 at 0.6, 2 at 0.8, 4.5 at
 * 0.9. With one machine of three away, 0.6 becomes 0.9.
 */
const busyShareMax = 0.6;

export function carriedBy(costs: ClusterCosts, machines: Machines): Carried {
  const { nodes, brokers, influxes, processors } = machines;
  const passedOn = (nodes - 1) / nodes;
  const withHop = ({ base, perMessage }: Cost, hop: number): Cost => ({
    base,
    perMessage: perMessage + passedOn * hop,
  });
  return {
    nodes: Math.min(
      nodes * perMachine(withHop(costs.mainThread, costs.hop.mainThread), 1),
      nodes * perMachine(withHop(costs.node, costs.hop.node), processors),
    ),
    brokers: (brokers / replicas) * perMachine(costs.broker, processors),
    influx: influxes * perMachine(costs.influx, processors),
  };
}

function perMachine({ base, perMessage }: Cost, processors: number): number {
  // The cost is too small for a short run to measure, so this part is no bottleneck.
  if (perMessage <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(0, (processors * busyShareMax - base) * 1e6) / perMessage;
}

/** The line through what was busy at two rates. */
export function costBetween(
  slow: { readonly rate: number; readonly busy: number },
  fast: { readonly rate: number; readonly busy: number },
): Cost {
  const each = (fast.busy - slow.busy) / (fast.rate - slow.rate);
  return { base: slow.busy - each * slow.rate, perMessage: each * 1e6 };
}

/** The part that carries least. */
export function firstWall(carried: Carried): keyof Carried {
  const parts = Object.keys(carried) as (keyof Carried)[];
  return parts.reduce((least, part) => (carried[part] < carried[least] ? part : least));
}
