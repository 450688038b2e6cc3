/** Requests of HTTP that another node of the cluster answers: passed on to it, and its answer passed back. */
import type { IncomingHttpHeaders } from "node:http";
import { type Agent, request as startRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { createPieceStream } from "../../ingest/transports/http/requests/body-reader.js";
import type { Forwarded } from "../../ingest/transports/sockets/relay.js";
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

/** What a request means by these must not change on the way, whatever it says of its connection. */
const ofMessage = new Set(["content-length", "content-type", "host", "authorization"]);

export function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set(headers.connection?.toLowerCase().split(/[\s,]+/));
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !ofConnection.has(name) && (ofMessage.has(name) || !named.has(name)),
    ),
  );
}

/** Where a request goes. */
export interface ForwardTarget {
  readonly agent: Agent;
  readonly host: string;
  readonly port: number;
}

/** Longer than a poll may wait. */
const silenceMsMax = 90_000;
const withoutBody: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "DELETE"]);

export function forward(
  { agent, host, port }: ForwardTarget,
  { request, response, client, reservation, proved, unreachable }: Forwarded,
): void {
  const { method, url, headers } = request;
  const length = headers["content-length"];
  // A body without a declared length is framed anew; one that means nothing does not go on the link.
  const isChunked = length === undefined && !withoutBody.has(method);
  const onward = startRequest({
    agent,
    host,
    port,
    method,
    path: url,
    setHost: false,
    headers: {
      // First: a node reads so many headers of a request, and no more.
      [clientHeader]: writeClient(client),
      host: headers.host ?? "",
      ...passedOn(headers),
      ...(isChunked ? { "transfer-encoding": "chunked" } : {}),
    },
  });
  onward.setTimeout(silenceMsMax, () => onward.destroy(new Error("the node is silent")));
  onward.on("information", proved);
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
  if (length === undefined && !isChunked) return void onward.end();
  // The head goes on before the first whole piece: the node authenticates the client while a slow body is on its way.
  onward.flushHeaders();
  // It may come in pieces of one byte each: they are gathered.
  const declared = length === undefined ? {} : { length: Number(length) };
  const pieces = createPieceStream(request, reservation, declared);
  pipeline(pieces, onward).catch((error: Error) => onward.destroy(error));
}
