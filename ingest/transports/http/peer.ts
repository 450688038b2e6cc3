import type { ClientCertificate } from "../../access/credentials.js";

/** The connection of a request, as far as its transport matters. */
export interface HttpPeer {
  /** Address of the socket, canonical. */
  readonly address: string;
  /** Another node of the cluster passes its requests on: they go no further. */
  readonly isRelayed: boolean;
  /** Whether it is one of TLS. */
  readonly isSecure: boolean;
  /** The client's, where TLS asked for one; else null. */
  readonly certificate: ClientCertificate | null;
  /** The connection itself, one for all of its requests. */
  readonly connection: object;
  /** The client has shown a right credential of this tenant. */
  prove(tenant: number): void;
}
