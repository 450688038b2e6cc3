import { BlockList, isIPv6 } from "node:net";
import { canonicalAddress } from "./address-block.js";
import { forwardedFor, nodeAddress } from "./forwarded.js";

/** The headers of a request that proxies write their clients' addresses into. */
export interface ProxyHeaders {
  readonly forwarded?: string | undefined;
  readonly "x-forwarded-for"?: string | undefined;
}

/** The proxies that are believed when they tell whose requests they pass on. */
export interface Proxies {
  /** Whether this address (canonical) is one of theirs. */
  trusts(address: string): boolean;
  /**
   * Whose request it is that came from `peer` (canonical): from the right, the first address that is no trusted
   * proxy's. Where a proxy does not say, or what stands there cannot be read, it is the proxy's own.
   */
  clientOf(peer: string, headers: ProxyHeaders): string;
}

/** An address, or a network with the length of its prefix: `10.0.0.0/8`, `2001:db8::/32`. */
export function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  if (canonicalAddress(address) === null || address.includes("%") || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv6(address) ? 128 : 32);
}

/** @param trusted networks as `isNetwork` has them */
export function createProxies(trusted: readonly string[]): Proxies {
  const networks = new BlockList();
  for (const text of trusted) {
    const [address = "", prefix] = text.split("/");
    const family = familyOf(address);
    if (prefix === undefined) networks.addAddress(address, family);
    else networks.addSubnet(address, Number(prefix), family);
  }

  function trusts(address: string): boolean {
    return trusted.length > 0 && address !== "" && networks.check(address, familyOf(address));
  }

  function walk(peer: string, chain: readonly (string | null)[]): string {
    let client = peer;
    for (let i = chain.length - 1; i >= 0 && trusts(client); i--) {
      const told = nodeAddress(chain[i] ?? "");
      if (told === null) return client;
      client = told;
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

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
