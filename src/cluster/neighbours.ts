/** The other processes of the cluster: who keeps which device, and the ways to them. */
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import type { Neighbours } from "../../ingest/transports/sockets/relay.js";
import { KeptElsewhere } from "../http/kept-elsewhere.js";
import type { Links } from "./links.js";

export interface Cluster extends Neighbours, Pick<Links, "ask" | "call" | "openEvents" | "watch"> {
  /** The numbers of the other nodes. */
  readonly others: readonly number[];
  /** Called with what goes wrong between nodes and is told to no caller. */
  readonly onFault: (error: Error) => void;
  /** Where the device of this record id is kept; null: here. */
  placeOf(device: number): Promise<Elsewhere | null>;
  /** @throws KeptElsewhere if another node keeps the device of this record id */
  atKeeper(device: number): Promise<void>;
}

export function createNeighbours(
  shards: ByShard<object>,
  directory: Pick<Directory, "findByUsername" | "get">,
  links: Links,
  { others, onFault }: Pick<Cluster, "others" | "onFault">,
): Cluster {
  async function elsewhere(device: DeviceEntry | undefined): Promise<Elsewhere | null> {
    const found = device === undefined ? null : await shards.of(device);
    return found instanceof Elsewhere ? found : null;
  }
  return {
    ...links,
    others,
    onFault,
    keeperOf: async (username) => {
      const device = username === undefined ? undefined : await directory.findByUsername(username);
      const found = await elsewhere(device);
      return found === null || device === undefined
        ? null
        : { node: found.node, tenant: device.device.tenant };
    },
    placeOf: async (id) => elsewhere(await directory.get(id)),
    atKeeper: async (id) => {
      const found = await elsewhere(await directory.get(id));
      if (found !== null) throw new KeptElsewhere(found.node);
    },
  };
}
