/** The client id of HTTP's sessions. */
export const httpClientID = "http";

/**
 * Devices that come only now and then own a session that waits for them, even before they first come. Its client id, by
 * the number of their protocol (interface, `cloudProtocol`).
 */
const clientIDs: ReadonlyMap<number, string> = new Map([[5, httpClientID]]);

/** The client id under which a device of this protocol fetches what waits for it; null: it has to be connected. */
export function findInboxClient(protocol: number): string | null {
  return clientIDs.get(protocol) ?? null;
}
