import { type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpPeer } from "../../ingest/transports/http/peer.js";
import type { WebSocketTransport } from "../../ingest/transports/websocket/transport.js";
import { createFedServer } from "./fed-server.js";
import { HttpConnection } from "./http-connection.js";
import type { RequestHandling } from "./request-handling.js";
import { toOriginForm } from "./request-target.js";
import type { Unread } from "./unread-bodies.js";

const headerBytesMax = 64 * 1024;

interface Http1ServerDeps {
  readonly unread: Unread;
  readonly idleMs: number;
  /** WebSocket of devices. */
  readonly upgrades: Pick<WebSocketTransport, "serves" | "upgrade"> | undefined;
  /** Where a request came from. */
  readonly ipOf: (request: IncomingMessage, peer: HttpPeer) => string;
}

/** Its connections pass it one request at a time. */
export function createHttp1Server(
  handling: RequestHandling,
  { unread, idleMs, upgrades, ipOf }: Http1ServerDeps,
): Server {
  const server = createFedServer({ maxHeaderSize: headerBytesMax, keepAliveTimeout: idleMs });
  const onConnection =
    (work: (request: IncomingMessage, response: ServerResponse, connection: HttpConnection) => void) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      toOriginForm(request);
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
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    toOriginForm(request);
    if (
      socket instanceof HttpConnection &&
      upgrades?.serves(request.url ?? "") === true &&
      isWebSocket(request)
    ) {
      if (socket.upgrade()) upgrades.upgrade(request, socket, head, socket, ipOf(request, socket));
      else socket.destroy();
    } else answerAnyway(server, request, socket);
  });
  unread.attach(server);
  return server;
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * Other upgrades are not taken: the request is one like others (RFC 9110 §7.8). Node reads no body of it, and nothing
 * that follows on the connection.
 */
function answerAnyway(server: Server, request: IncomingMessage, socket: Duplex): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as never);
  response.once("finish", () => socket.end());
  server.emit("request", request, response);
}
