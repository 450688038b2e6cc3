import type { HttpPeer } from "../../ingest/transports/http/peer.js";

/** The connections of requests under way. */
const peers = new WeakMap<object, HttpPeer>();

export function setPeer(request: object, peer: HttpPeer): void {
  peers.set(request, peer);
}

/** The connection on which a request came; undefined for one made within the process. */
export function findPeer(request: object | undefined): HttpPeer | undefined {
  return request === undefined ? undefined : peers.get(request);
}
