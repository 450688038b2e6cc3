/** Routes a request to what answers it: the devices' side, or the API. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { HttpPeer } from "../../ingest/transports/http/peer.js";
import type { HttpTransport } from "../../ingest/transports/http/transport.js";
import { removeBasePath } from "./base-path.js";
import { setPeer } from "./http-peers.js";
import { type RequestScheduler, requestLane } from "./request-scheduler.js";
import type { Unread } from "./unread-bodies.js";

export type Fetch = (request: Request) => Response | Promise<Response>;

/** The connection of a request. */
interface Client extends HttpPeer {
  /** In whose turns its requests begin. */
  readonly client: string;
}

interface RequestHandlingDeps {
  readonly host: string;
  /** The prefix of paths behind a proxy; empty: none. */
  readonly basePath: string;
  readonly unread: Unread;
  readonly turns: RequestScheduler;
  /** Answers the requests of devices. */
  readonly devices: Pick<HttpTransport, "handle"> | undefined;
}

export interface RequestHandling {
  /** Answers it in its client's turn. `peer`: facts about the connection. */
  handle(request: IncomingMessage, response: ServerResponse, client: Client, peer?: HttpPeer): void;
  /** Does the work in the client's turn. */
  inTurn(request: IncomingMessage, response: ServerResponse, client: Client, work: () => void): void;
}

export function createRequestHandling(
  fetch: Fetch,
  { host, basePath, unread, turns, devices }: RequestHandlingDeps,
): RequestHandling {
  const listener = getRequestListener(fetch, { hostname: host, errorHandler: unread.respond });

  const inTurn: RequestHandling["inTurn"] = (request, response, client, work) =>
    turns.begin(requestLane(client.client, request.url ?? ""), () => {
      if (!response.destroyed) work();
    });

  return {
    inTurn,
    handle: (request, response, client, peer = client) => {
      request.url = removeBasePath(request.url ?? "", basePath);
      inTurn(request, response, client, () => {
        if (unread.refuse(request, response)) return;
        setPeer(request, peer);
        if (devices?.handle(request, response, peer) !== true) void listener(request, response);
      });
    },
  };
}
