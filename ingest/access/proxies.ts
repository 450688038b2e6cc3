import { BlockList, isIPv4, isIPv6 } from "node:net";
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
   * Whose request came from `peer` (canonical): from the right, the first address that is not a trusted
   * proxy's. If a proxy does not say, or says something unreadable, the request is the proxy's own.
   */
  clientOf(peer: string, headers: ProxyHeaders): string;
}

interface Network {
  /** Canonical. */
  readonly address: string;
  /** Bits. */
  readonly prefix: number;
}

/** What IPv6 puts before an IPv4 address, bits: `::ffff:10.0.0.0/104` is 10.0.0.0/8. */
const mappedBits = 96;

/** Null for a text that is no network. */
function networkOf(text: string): Network | null {
  const [given = "", length, ...rest] = text.split("/");
  const address = canonicalAddress(given);
  if (address === null || given.includes("%") || rest.length > 0) return null;
  const bits = isIPv4(address) ? 32 : 128;
  if (length === undefined) return { address, prefix: bits };
  if (!/^\d{1,3}$/.test(length)) return null;
  const prefix = Number(length) - (isIPv6(given) && bits === 32 ? mappedBits : 0);
  return prefix >= 0 && prefix <= bits ? { address, prefix } : null;
}

/** An address, or a network with the length of its prefix: `10.0.0.0/8`, `2001:db8::/32`, `::ffff:10.0.0.0/104`. */
export function isNetwork(text: string): boolean {
  return networkOf(text) !== null;
}

/** @param trusted networks as `isNetwork` has them */
export function createProxies(trusted: readonly string[]): Proxies {
  const networks = new BlockList();
  for (const text of trusted) {
    const network = networkOf(text);
    if (network === null) throw new RangeError(`"${text}" is no network`);
    networks.addSubnet(network.address, network.prefix, familyOf(network.address));
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
