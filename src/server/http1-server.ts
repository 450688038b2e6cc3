import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { HttpConnection } from "./http-connection.js";
import type { RequestHandling } from "./request-handling.js";
import type { Unread } from "./unread.js";

const headerBytesMax = 64 * 1024;

/**
 * Node's server for the requests of HTTP/1.1. It never listens: it is given connections (`emit("connection")`) that
 * pass it one request at a time.
 */
export function createHttp1Server(handling: RequestHandling, unread: Unread, idleMs: number): Server {
  const server = createServer({
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: idleMs,
    requireHostHeader: false,
    // The connections themselves check how long each part of a request takes.
    headersTimeout: 0,
    requestTimeout: 0,
  });
  const onConnection =
    (work: (request: IncomingMessage, response: ServerResponse, connection: HttpConnection) => void) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      unread.heard(request, response);
      const socket: unknown = request.socket;
      if (!(socket instanceof HttpConnection)) return;
      socket.handle(request, response, () => work(request, response, socket));
    };
  server.on("request", onConnection(handling.handle));
  server.on(
    "checkExpectation",
    onConnection((request, response, connection) =>
      handling.inTurn(request, response, connection, () => unread.unexpected(response)),
    ),
  );
  unread.attach(server);
  return server;
}
