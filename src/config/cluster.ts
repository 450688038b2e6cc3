/** The processes of a cluster, as CLUSTER_NODES names them: the same list in each. */

export interface ClusterNode {
  /** Its NODE_NUMBER. */
  readonly number: number;
  readonly host: string;
  readonly port: number;
}

export interface ClusterSettings {
  /** All of them, in the order of their numbers. */
  readonly nodes: readonly ClusterNode[];
  /** This process. */
  readonly self: ClusterNode;
  /** The address to listen at. */
  readonly host: string;
  /** The nodes derive from it the keys with which they authenticate to each other. */
  readonly masterKey: Uint8Array;
}

const nodesMax = 64;
const nodePattern = /^(\d{1,3})@(\[[0-9a-fA-F:.]{2,45}\]|[^\s:@,[\]]{1,253}):(\d{1,5})$/;

/** `number@host:port`, separated by commas; null: it is no such list. */
export function readNodes(text: string): readonly ClusterNode[] | null {
  const nodes: ClusterNode[] = [];
  for (const part of text.split(",", nodesMax + 1)) {
    const [, number, host, port] = nodePattern.exec(part.trim()) ?? [];
    if (number === undefined || host === undefined || port === undefined) return null;
    if (Number(port) < 1 || Number(port) > 65_535) return null;
    nodes.push({ number: Number(number), host: host.replace(/^\[|\]$/g, ""), port: Number(port) });
  }
  return nodes.sort((a, b) => a.number - b.number);
}

/**
 * The numbers of all shards of the deployment, in the order in which devices are shared out. With journals on the nodes'
 * own disks each node has one, of its own number.
 */
export function allShards(
  own: number,
  cluster: ClusterSettings | null,
  journal: { readonly shards: number } | null,
): readonly number[] {
  if (journal !== null) return Array.from({ length: journal.shards }, (_, shard) => shard);
  return cluster === null ? [own] : cluster.nodes.map(({ number }) => number);
}

interface ClusterEnvironment {
  readonly NODE_NUMBER: number;
  readonly CLUSTER_NODES?: readonly ClusterNode[] | undefined;
  readonly CLUSTER_HOST?: string | undefined;
  readonly LIBSQL_URL?: string | undefined;
  readonly INFLUX_URL?: readonly string[] | undefined;
}

/** Faults of the settings of a cluster, one a line. */
export function clusterProblems(env: ClusterEnvironment): string[] {
  const { CLUSTER_NODES: nodes, NODE_NUMBER: own } = env;
  if (nodes === undefined) return env.CLUSTER_HOST === undefined ? [] : ["CLUSTER_HOST: needs CLUSTER_NODES"];
  const problems: string[] = [];
  if (nodes.length < 2 || nodes.length > nodesMax)
    problems.push(`CLUSTER_NODES: must name 2 to ${nodesMax} nodes`);
  if (new Set(nodes.map(({ number }) => number)).size < nodes.length)
    problems.push("CLUSTER_NODES: names a number twice");
  if (new Set(nodes.map(({ host, port }) => `${host} ${port}`)).size < nodes.length)
    problems.push("CLUSTER_NODES: names an address twice");
  if (!nodes.some(({ number }) => number === own))
    problems.push(`CLUSTER_NODES: does not name this process, whose NODE_NUMBER is ${own}`);
  for (const [name, why] of [
    ["LIBSQL_URL", "all nodes share their metadata"],
    ["INFLUX_URL", "all nodes share their points"],
  ] as const) {
    if (env[name] === undefined) problems.push(`${name}: is required with CLUSTER_NODES, for ${why}`);
  }
  return problems;
}

/** Null: this process is alone. */
export function readClusterSettings(
  env: ClusterEnvironment,
  { host, masterKey }: { readonly host: string; readonly masterKey: Uint8Array | null },
): ClusterSettings | null {
  const nodes = env.CLUSTER_NODES;
  const self = nodes?.find(({ number }) => number === env.NODE_NUMBER);
  if (nodes === undefined || self === undefined || masterKey === null) return null;
  return { nodes, self, host: env.CLUSTER_HOST ?? host, masterKey };
}
