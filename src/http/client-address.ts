import { canonicalAddress } from "../../ingest/access/address-block.js";
import type { Proxies, ProxyHeaders } from "../../ingest/access/proxies.js";

/**
 * The address of the client that a request came from: the only place that says so. `peer` is the address of its
 * socket. Forwarded and X-Forwarded-For are believed of TRUSTED_PROXIES alone. Empty for a request that was made
 * within the process.
 */
export function clientAddress(peer: string | undefined, headers: ProxyHeaders, proxies: Proxies): string {
  return proxies.clientOf(canonicalAddress(peer ?? "") ?? "", headers);
}
