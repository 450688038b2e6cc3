/** Which addresses messages may go to: a tenant must not reach into the network that the service stands in. */
import { type LookupAddress, lookup as lookUpName } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { withinNetworks } from "../../ingest/access/networks.js";

export class AddressError extends Error {
  constructor(host: string) {
    super(
      `${host} is not a public address; the setting NOTIFY_PRIVATE_ADDRESSES names those that are allowed`,
    );
    this.name = "AddressError";
  }
}

export interface AddressGuard {
  /** For sockets: resolves names, and fails for one that has an address that is not allowed. */
  readonly lookup: LookupFunction;
  /** An address of a host, which may be a name or an address itself. @throws AddressError */
  resolve(host: string): Promise<string>;
}

/** @param allowed addresses and networks besides the public ones, as `isNetwork` has them */
export function createAddressGuard(allowed: readonly string[]): AddressGuard {
  const isListed = withinNetworks(allowed);

  function isAllowed(address: string): boolean {
    // An IPv4 address within IPv6 counts as what it is.
    const parsed = ipaddr.process(address.split("%")[0] ?? "");
    if (parsed.range() === "unicast") return true;
    return isListed(parsed.toString());
  }

  function check(host: string, addresses: readonly LookupAddress[]): void {
    // One bad address spoils the name: the next answer could have them in another order.
    if (!addresses.every(({ address }) => isAllowed(address))) throw new AddressError(host);
  }

  const lookup: LookupFunction = (host, options, done) => {
    lookUpName(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, "", 0);
      try {
        check(host, addresses);
      } catch (refused) {
        return done(refused as Error, "", 0);
      }
      const [first] = addresses;
      if (options.all === true) done(null, addresses);
      else done(null, first?.address ?? "", first?.family ?? 4);
    });
  };

  return {
    lookup,
    resolve: (host) =>
      new Promise((resolve, reject) => {
        const bare = host.replace(/^\[(.*)\]$/, "$1");
        // Asks for an address as for a name, for Node does not look up addresses.
        lookup(bare, { all: false }, (error, address) => {
          if (error === null) resolve(String(address));
          else reject(error);
        });
      }),
  };
}
