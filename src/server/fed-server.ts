import { createServer, type Server } from "node:http";

/**
 * Node's server for the requests of HTTP/1.1 on connections that others have accepted: it never listens, but is given
 * them (`emit("connection")`).
 */
export function createFedServer(limits: {
  readonly maxHeaderSize: number;
  /** Milliseconds. */
  readonly keepAliveTimeout: number;
}): Server {
  return createServer({
    ...limits,
    requireHostHeader: false,
    // The server that has accepted the connection checks how long each part of a request takes.
    headersTimeout: 0,
    requestTimeout: 0,
  });
}
