import { promises as dns, type LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { onAbort } from "../../store/lib/abortable.js";
import { createHostsFile } from "./hosts-file.js";

/**
 * Addresses of a name, IPv4 first, of an address itself; ends with the signal.
 * @throws Error if there are none
 */
export type LookUpName = (host: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

interface NameOptions {
  /** Servers that are asked, `address:port`; absent: the machine's. */
  readonly servers?: readonly string[];
  readonly hostsPath?: string;
}

/** Milliseconds for the answer of one server. */
const answerMs = 3000;

const toLookupAddress = (address: string): LookupAddress => ({ address, family: isIP(address) });

/**
 * Looks names up over sockets of its own. `dns.lookup` takes a thread of the pool that files and the whole process
 * share, for as long as the servers of a tenant's name keep silent.
 */
export function createLookUpName({ servers, hostsPath }: NameOptions = {}): LookUpName {
  const inFile = createHostsFile(hostsPath);
  return async (host, signal) => {
    if (isIP(host) !== 0) return [toLookupAddress(host)];
    const own = await inFile(host);
    if (own.length > 0) return own.map(toLookupAddress);
    signal.throwIfAborted();
    const resolver = new dns.Resolver({ timeout: answerMs, tries: 1 });
    if (servers !== undefined) resolver.setServers(servers);
    const stopListening = onAbort(signal, () => resolver.cancel());
    try {
      const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      const found = [four, six].flatMap((one) => (one.status === "fulfilled" ? one.value : []));
      if (found.length === 0 && four.status === "rejected") throw four.reason;
      return found.map(toLookupAddress);
    } finally {
      stopListening();
    }
  };
}
