/** A call of the API that another node of the cluster answers, for a caller who is known here. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as startRequest } from "node:https";
import { Readable } from "node:stream";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import { ApiError } from "../http/errors.js";
import { OwnerLost } from "../http/remote-shard.js";
import type { RouteAnswer } from "../http/route.js";
import { type ForwardTarget, passedOn } from "./forward.js";
import { clientHeader, writeClient } from "./relayed-client.js";

export interface Call {
  readonly request: Request;
  /** The body, which has been read. */
  readonly json: unknown;
  readonly client: RelayedClient;
}

/** What this node's own frame writes, and what belongs to the bytes on the way. */
const own = ["content-length", "content-type", "vary", "date", "api-variant", "x-request-id"];

/** A stream shows a sign of life every 15 s. */
const silenceMsMax = 60_000;

/** @throws ApiError SERVICE_UNAVAILABLE if the node does not answer; `KeeperLost` if it was there, and then was not */
export async function forwardToNode(
  { agent, host, port }: ForwardTarget,
  { request, json, client }: Call,
): Promise<RouteAnswer> {
  const { pathname, search, host: authority } = new URL(request.url);
  const body = json === undefined ? null : Buffer.from(JSON.stringify(json));
  const headers = passedOn(Object.fromEntries(request.headers) as IncomingHttpHeaders);
  // The answer is packed, if at all, for the caller.
  delete headers["accept-encoding"];
  delete headers["content-length"];
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const onward = startRequest({
      agent,
      host,
      port,
      method: request.method,
      path: `${pathname}${search}`,
      setHost: false,
      headers: {
        // First: a node reads so many headers of a request, and no more.
        [clientHeader]: writeClient(client),
        ...headers,
        host: authority,
        ...(body === null ? {} : { "content-length": body.length }),
      },
      signal: request.signal,
    });
    onward.setTimeout(silenceMsMax, () => onward.destroy(new Error("it is silent")));
    onward.on("response", resolve);
    onward.on("error", (error) => reject(away(error)));
    onward.end(body ?? undefined);
  });
  const told = passedOn(answer.headers);
  for (const name of own) delete told[name];
  const status = (answer.statusCode ?? 502) as RouteAnswer["status"];
  const hasBody = request.method !== "HEAD" && status !== 204 && (status as number) !== 304;
  if (!hasBody) answer.resume();
  return {
    status,
    headers: told as Record<string, string>,
    ...(answer.headers["content-type"] === undefined ? {} : { type: answer.headers["content-type"] }),
    ...(hasBody ? { body: Readable.toWeb(answer) as ReadableStream<Uint8Array> } : {}),
  };
}

function away(error: NodeJS.ErrnoException): ApiError {
  const told = `the node that keeps the device does not answer, and may have done it: ${error.message}`;
  return error.code === "ECONNRESET" ? new OwnerLost(told) : new ApiError("SERVICE_UNAVAILABLE", told);
}
