/** The other processes of the cluster: who keeps which device, and the ways to them. */
import { findClaimed } from "../../ingest/access/credentials.js";
import { type ByShard, Elsewhere, type ShardPlaces } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import type { Neighbours } from "../../ingest/transports/sockets/relay.js";
import { RemoteShard } from "../http/remote-shard.js";
import type { Links } from "./links.js";

export interface NeighbourNodes extends Neighbours, Pick<Links, "ask" | "call" | "openEvents" | "watch"> {
  /** The numbers of the other nodes. */
  readonly others: readonly number[];
  /** Called with faults between nodes that no caller receives. */
  readonly onFault: (error: Error) => void;
  /** Where all shards are now. */
  places(): ShardPlaces;
  /** Where the device of this record id is kept; null: here. Waits a while for one that is kept nowhere. */
  placeOf(device: number): Promise<Elsewhere | null>;
  /** @throws RemoteShard if another node keeps the device of this record id, or none now */
  atKeeper(device: number): Promise<void>;
  /** Resolves once a node has the shard of this number, or after a while. */
  untilPlaced(shard: number): Promise<void>;
}

export function createNeighbours(
  shards: ByShard<object>,
  directory: Pick<Directory, "findByUsername" | "findByCertificate" | "get">,
  links: Links,
  { others, onFault }: Pick<NeighbourNodes, "others" | "onFault">,
): NeighbourNodes {
  async function elsewhere(
    device: DeviceEntry | undefined,
    find: (device: DeviceEntry) => Promise<object>,
  ): Promise<Elsewhere | null> {
    const found = device === undefined ? null : await find(device);
    return found instanceof Elsewhere ? found : null;
  }
  return {
    ...links,
    others,
    onFault,
    keeperOf: async (username, certificate) => {
      const device = await findClaimed(directory, username, certificate);
      if (device === "several" || device === undefined) return null;
      const found = await elsewhere(device, shards.whenPlaced);
      return found === null ? null : { node: found.node, tenant: device.device.tenant };
    },
    placeOf: async (id) => elsewhere(await directory.get(id), shards.whenPlaced),
    places: shards.places,
    untilPlaced: shards.untilPlaced,
    atKeeper: async (id) => {
      // `of`, not `whenPlaced`: a request that waits here would keep its place among those being answered.
      const found = await elsewhere(await directory.get(id), shards.of);
      if (found !== null) throw new RemoteShard(found.node, found.shard);
    },
  };
}
