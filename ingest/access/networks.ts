import { BlockList, isIPv4, isIPv6 } from "node:net";
import { canonicalAddress } from "./address-block.js";

interface Network {
  /** Canonical. */
  readonly address: string;
  /** Bits. */
  readonly prefix: number;
}

/** What IPv6 puts before an IPv4 address, bits: `::ffff:10.0.0.0/104` is 10.0.0.0/8. */
const mappedBits = 96;

/** Null for a text that is no network. */
function parseNetwork(text: string): Network | null {
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
  return parseNetwork(text) !== null;
}

/** Whether a canonical address is in one of the networks. @param networks as `isNetwork` has them */
export function withinNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network === null) throw new RangeError(`"${text}" is no network`);
    list.addSubnet(network.address, network.prefix, addressFamily(network.address));
  }
  return (address) => networks.length > 0 && address !== "" && list.check(address, addressFamily(address));
}

function addressFamily(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
