/** Which addresses messages may go to: a tenant must not reach into the network that the service stands in. */
import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { withinNetworks } from "../../ingest/access/networks.js";
import { createLookUpName, type LookUpName } from "./names.js";

/** One answer for a name that does not exist and for one of this network: a tenant must not learn which names there are. */
const noPublicAddress = (host: string): Error =>
  new Error(
    `${host} has no public address; the setting NOTIFY_PRIVATE_ADDRESSES names others that are allowed`,
  );

export interface AddressGuard {
  /** For sockets: resolves names, and fails for one that has an address that is not allowed. */
  lookup(signal: AbortSignal): LookupFunction;
  /** An address of a host, which may be a name or an address itself. @throws Error if it has none that is allowed */
  resolve(host: string, signal: AbortSignal): Promise<string>;
}

/** @param allowed addresses and networks besides the public ones, as `isNetwork` has them */
export function createAddressGuard(
  allowed: readonly string[],
  lookUpName: LookUpName = createLookUpName(),
): AddressGuard {
  const isListed = withinNetworks(allowed);

  function isAllowed(address: string): boolean {
    // An IPv4 address within IPv6 counts as what it is.
    const parsed = ipaddr.process(address.split("%")[0] ?? "");
    if (parsed.range() === "unicast") return true;
    return isListed(parsed.toString());
  }

  async function lookUp(host: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const found = await lookUpName(host, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return [];
    });
    // One bad address spoils the name: the next answer could have them in another order.
    if (!found.every(({ address }) => isAllowed(address))) throw noPublicAddress(host);
    return found;
  }

  return {
    lookup: (signal) => (host, options, done) => {
      const { family } = options;
      const isWanted = (one: LookupAddress): boolean =>
        family === undefined || family === 0 || Number(String(family).replace("IPv", "")) === one.family;
      lookUp(host, signal)
        .then((found) => {
          const wanted = found.filter(isWanted);
          const [first] = wanted;
          if (first === undefined) throw noPublicAddress(host);
          return { wanted, first };
        })
        .then(
          ({ wanted, first }) =>
            options.all === true ? done(null, wanted) : done(null, first.address, first.family),
          (error: NodeJS.ErrnoException) => done(error, "", 0),
        );
    },
    resolve: async (host, signal) => {
      const [first] = await lookUp(host.replace(/^\[(.*)\]$/, "$1"), signal);
      if (first === undefined) throw noPublicAddress(host);
      return first.address;
    },
  };
}
