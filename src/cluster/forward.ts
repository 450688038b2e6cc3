/** Requests of HTTP that another node of the cluster answers: passed on to it, and its answer passed back. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type Agent, request as startRequest } from "node:https";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import { clientHeader, writeClient } from "./relayed-client.js";

/** Those that belong to one connection and not to what it carries (RFC 9110 §7.6.1), and what we write ourselves. */
const ofConnection = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  clientHeader,
]);

export function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set(headers.connection?.toLowerCase().split(/[\s,]+/));
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !name.startsWith(":") && !ofConnection.has(name) && !named.has(name),
    ),
  );
}

/** Where a request goes. */
export interface Target {
  readonly agent: Agent;
  readonly host: string;
  readonly port: number;
}

/** `unreachable` answers if the node cannot be reached, or ends before it has begun to answer. */
export function forward(
  { agent, host, port }: Target,
  request: IncomingMessage,
  response: ServerResponse,
  client: RelayedClient,
  unreachable: () => void,
): void {
  const { method, url, headers } = request;
  const authority = headers.host ?? headers[":authority"];
  const onward = startRequest({
    agent,
    host,
    port,
    method,
    path: url,
    setHost: false,
    headers: {
      ...passedOn(headers),
      ...(typeof authority === "string" ? { host: authority } : {}),
      [clientHeader]: writeClient(client),
    },
  });
  onward.on("response", (answer) => {
    if (response.destroyed) return void answer.destroy();
    response.writeHead(answer.statusCode ?? 502, passedOn(answer.headers));
    answer.pipe(response);
    // Cut off in the midst: the client must not take it for the whole.
    answer.once("aborted", () => response.destroy());
  });
  onward.on("error", () => {
    if (response.headersSent) response.destroy();
    else if (!response.destroyed) unreachable();
  });
  response.once("close", () => onward.destroy());
  request.pipe(onward);
}
