import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Http2Connection } from "./http2-connection.js";
import type { RequestHandling } from "./request-handling.js";

/** Requests of one connection at once. */
const streamsMax = 100;
const headerBytesMax = 64 * 1024;
/** Of one connection, MB: headers, and what has come of bodies that nobody reads yet. */
const sessionMegabytesMax = 4;

/**
 * Node's server for the requests of HTTP/2 (RFC 9113). It never listens: it is given sockets on which TLS has agreed on
 * `h2`. `connectionOf` finds what was made of such a socket.
 */
export function createHttp2Server(
  handling: RequestHandling,
  connectionOf: (session: ServerHttp2Session) => Http2Connection | undefined,
): Http2Server {
  const server = createServer({
    maxSessionMemory: sessionMegabytesMax,
    settings: { maxConcurrentStreams: streamsMax, maxHeaderListSize: headerBytesMax, enablePush: false },
  });
  server.on("request", (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const { stream } = request;
    const connection = connectionOf(stream.session as ServerHttp2Session);
    if (connection === undefined) return stream.close();
    connection.begin(stream);
    const peer = {
      address: connection.address,
      isRelayed: false,
      isSecure: true,
      certificate: connection.certificate,
      connection,
      prove: (tenant: number) => connection.prove(tenant, stream),
    };
    // Of both, whoever answers uses only what HTTP/2 has as well.
    const both = [request as unknown as IncomingMessage, response as unknown as ServerResponse] as const;
    handling.handle(...both, { ...peer, client: connection.client }, peer);
  });
  // A session that fails is over; what it was told is not our fault.
  server.on("sessionError", () => undefined);
  return server;
}
