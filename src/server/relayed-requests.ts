/** Requests that other nodes of the cluster pass on to this one. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpPeer } from "../../ingest/transports/http/peer.js";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import type { WebSocketTransport } from "../../ingest/transports/websocket/transport.js";
import { clientHeader, readClient } from "../cluster/relayed-client.js";
import { createFedServer } from "./fed-server.js";
import type { RequestHandling } from "./request-handling.js";

/** The client's own headers have at most 64 KiB; ours are added to them. */
const headerBytesMax = 80 * 1024;
const idleMs = 60_000;

type Upgrades = Pick<WebSocketTransport, "serves" | "upgrade">;

/** Each of its connections is a link of the cluster. */
export function createRelayedServer({ handle }: RequestHandling, upgrades: Upgrades | undefined): Server {
  const server = createFedServer({ maxHeaderSize: headerBytesMax, keepAliveTimeout: idleMs });
  server.maxHeadersCount = 0;
  server.on("request", (request, response) => {
    const client = parseRelayedClient(request.headers[clientHeader]);
    if (client === null) return void response.writeHead(400).end();
    delete request.headers[clientHeader];
    handle(request, response, {
      ...createRelayedPeer(client, request, () => reportAuthenticated(response)),
      client: client.address,
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const client = parseRelayedClient(request.headers[clientHeader]);
    if (client === null || upgrades?.serves(request.url ?? "") !== true) return void socket.destroy();
    upgrades.upgrade(
      request,
      socket,
      head,
      createRelayedPeer(client, request, () => undefined),
      client.address,
    );
  });
  return server;
}

/** A link carries the requests of many clients: each is known by its own credentials. */
function createRelayedPeer(client: RelayedClient, request: IncomingMessage, proved: () => void): HttpPeer {
  return { ...client, isRelayed: true, connection: request, prove: proved };
}

/** Reports to the client's node at once that the client is authenticated: it waits longer for a known client. */
function reportAuthenticated(response: ServerResponse): void {
  if (!response.headersSent && !response.destroyed) response.writeProcessing();
}

function parseRelayedClient(header: string | string[] | undefined): RelayedClient | null {
  if (typeof header !== "string") return null;
  try {
    return readClient(header);
  } catch {
    return null;
  }
}
