/** A client's connection that goes on at another process of the cluster: the one that has its device's shard. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ClientCertificate } from "../../access/credentials.js";

/** What the other process is told of a client that it does not see itself. */
export interface RelayedClient {
  /** Canonical. */
  readonly address: string;
  /** Whether it has come by TLS. */
  readonly isSecure: boolean;
  readonly certificate: ClientCertificate | null;
}

/** The node that keeps a device. */
export interface Keeper {
  readonly node: number;
  /** Of the device. */
  readonly tenant: number;
}

/** The other processes of the cluster. */
export interface Neighbours {
  /** Which of them has the device of this user name; null: none, for it is here, or there is no such device. */
  keeperOf(username: string | undefined): Promise<Keeper | null>;
  /** Opens a way for the bytes of one client of MQTT. @throws Error if the node cannot be reached */
  openRelay(node: number, client: RelayedClient): Promise<Duplex>;
  /** Opens a way for the bytes of a client that asks for a WebSocket. @throws Error if the node cannot be reached */
  openUpgrade(node: number, request: IncomingMessage, client: RelayedClient): Promise<Duplex>;
  /** Lets the node answer a request; `unreachable` answers if it does not. */
  forward(
    node: number,
    request: IncomingMessage,
    response: ServerResponse,
    client: RelayedClient,
    unreachable: () => void,
  ): void;
  /** Ends links that carry nothing. */
  close(): void;
}

/** A peer that does not close its half is cut off. */
const closeTimeoutMs = 2000;

/** Passes all bytes on in both directions, each side at the other's pace, until either ends: then both do. */
export function join(client: Duplex, relay: Duplex): void {
  client.pipe(relay);
  relay.pipe(client);
  for (const [one, other] of [
    [client, relay],
    [relay, client],
  ] as const) {
    one.on("error", () => undefined);
    one.once("close", () => {
      other.end();
      const cutOff = setTimeout(() => other.destroy(), closeTimeoutMs).unref();
      other.once("close", () => clearTimeout(cutOff));
    });
  }
}
