import { forwardedFor, nodeAddress } from "./forwarded.js";
import { withinNetworks } from "./networks.js";

/** The headers of a request that proxies write their clients' addresses into. */
export interface ProxyHeaders {
  readonly forwarded?: string | undefined;
  readonly "x-forwarded-for"?: string | undefined;
}

/** The proxies whose forwarding headers are trusted. */
export interface Proxies {
  /** Whether this address (canonical) is one of theirs. */
  trusts(address: string): boolean;
  /**
   * Finds the client of a request from `peer` (canonical): from the right, the first address that is not a trusted
   * proxy's. If a proxy does not say, or says something unreadable, the request is the proxy's own.
   */
  clientOf(peer: string, headers: ProxyHeaders): string;
}

/** @param trusted networks as `isNetwork` has them */
export function createProxies(trusted: readonly string[]): Proxies {
  const trusts = withinNetworks(trusted);

  function walk(peer: string, chain: readonly (string | null)[]): string {
    let client = peer;
    for (let i = chain.length - 1; i >= 0 && trusts(client); i--) {
      const namedAddress = nodeAddress(chain[i] ?? "");
      if (namedAddress === null) return client;
      client = namedAddress;
    }
    return client;
  }

  return {
    trusts,
    clientOf: (peer, { forwarded, "x-forwarded-for": forwardedList }) => {
      if (!trusts(peer)) return peer;
      const first = forwarded === undefined ? null : walk(peer, forwardedFor(forwarded) ?? []);
      const second = forwardedList === undefined ? null : walk(peer, forwardedList.split(","));
      // A proxy that writes one header lets the other through as its client sent it: only what both say is believed.
      if (first !== null && second !== null) return first === second ? first : peer;
      return first ?? second ?? peer;
    },
  };
}
