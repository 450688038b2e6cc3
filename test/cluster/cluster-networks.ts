/** A network for each node and each broker of a cluster, so that any of them can be cut off. */
import { type Networks, openNetworks, type Place } from "../networks/networks.js";
import { numbers } from "./three-nodes.js";

export interface ClusterNetworks {
  readonly networks: Networks;
  /** In the order of the cluster's nodes. */
  readonly ofNodes: readonly Place[];
  readonly ofBrokers: readonly Place[];
}

export async function openClusterNetworks(): Promise<ClusterNetworks> {
  const networks = await openNetworks();
  const ofNodes: Place[] = [];
  const ofBrokers: Place[] = [];
  for (const _ of numbers) {
    ofNodes.push(await networks.add());
    ofBrokers.push(await networks.add());
  }
  return { networks, ofNodes, ofBrokers };
}
