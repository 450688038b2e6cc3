import { isIP, isIPv6, SocketAddress } from "node:net";

/**
 * An address in its canonical spelling: `::FFFF:1.2.3.4` is 1.2.3.4, a zone is left out; null for a text that is no
 * address.
 */
export function canonicalAddress(text: string): string | null {
  const [address = ""] = text.split("%", 1);
  const kind = isIP(address);
  if (kind === 0) return null;
  if (kind === 4) return address;
  return new SocketAddress({ address, family: "ipv6" }).address.replace(/^::ffff:(?=\d+\.)/, "");
}

const groupsMax = 8;
/** The part of an IPv6 address that a provider gives to one subscriber. */
const prefixGroups = 4;

/**
 * Whom what comes from an address (canonical) is counted for: an IPv4 address for itself, an IPv6 address for its
 * /64, out of which one subscriber takes as many as it likes. Anything else stands for itself.
 */
export function addressBlock(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("::");
  const before = listGroups(head);
  const after = listGroups(tail ?? "");
  const zeros = new Array<string>(groupsMax - before.length - after.length).fill("0");
  return `${[...before, ...zeros, ...after].slice(0, prefixGroups).join(":")}::/64`;
}

/** The dotted form at the end of one is two groups, which are beyond the prefix whatever they hold. */
function listGroups(part: string): string[] {
  if (part === "") return [];
  return part.split(":").flatMap((group) => (group.includes(".") ? ["", ""] : [group]));
}
