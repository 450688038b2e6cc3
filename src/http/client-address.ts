import { canonicalAddress } from "../../ingest/access/address-block.js";
import type { Proxies, ProxyHeaders } from "../../ingest/access/proxies.js";

/**
 * The address of the client that sent a request; nothing else determines it. `peer` is the address of its
 * socket. Forwarded and X-Forwarded-For are trusted from TRUSTED_PROXIES alone. Empty for a request made
 * within the process.
 */
export function clientAddress(peer: string | undefined, headers: ProxyHeaders, proxies: Proxies): string {
  return proxies.clientOf(canonicalAddress(peer ?? "") ?? "", headers);
}
