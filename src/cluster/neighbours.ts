import type { ByShard } from "../../ingest/directory/by-shard.js";
import { Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import type { Neighbours } from "../../ingest/transports/sockets/relay.js";
import type { Links } from "./links.js";

/** The other processes of the cluster, as clients' connections need them. */
export function createNeighbours(
  shards: ByShard<object>,
  directory: Pick<Directory, "findByUsername">,
  links: Links,
): Neighbours {
  return {
    keeperOf: async (username) => {
      const device = username === undefined ? undefined : await directory.findByUsername(username);
      if (device === undefined) return null;
      const found = await shards.of(device);
      return found instanceof Elsewhere ? { node: found.node, tenant: device.device.tenant } : null;
    },
    ...links,
  };
}
