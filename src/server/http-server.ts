import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { addressBlock } from "../../ingest/access/address-block.js";
import { createAdmission } from "../../ingest/access/admission.js";
import { count, type HttpEndReason, type Meter } from "../../ingest/meter.js";
import type { HttpTransport } from "../../ingest/transports/http/transport.js";
import { createShares, type Shares } from "../../store/lib/shares.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import { type Holder, HttpConnection, type HttpTimes } from "./http-connection.js";
import { createRequestTurns } from "./request-turns.js";
import { createUnread } from "./unread.js";

/** The HTTP listener. */
export interface HttpListener {
  /** http://host:port */
  readonly address: string;
  /** Takes no more connections. */
  stop(): void;
  /** Resolves once the requests in progress have ended, at the latest after their grace period. */
  closed(): Promise<void>;
}

export interface HttpListenerDeps {
  readonly config: Pick<Config, "host" | "httpPort" | "apiVariant">;
  readonly log: Logger;
  readonly meter: Meter;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Connections at once. */
  readonly connectionsMax: number;
  /** Answers the requests of devices. */
  readonly devices?: Pick<HttpTransport, "handle">;
  readonly times?: HttpTimes;
  /** How often connections are checked for being late, in milliseconds. */
  readonly checkMs?: number;
}

const headerBytesMax = 64 * 1024;
/**
 * Bytes held of requests that have not arrived whole, and of those that follow an unanswered one: for all
 * unauthenticated connections, shared by addresses, and for all others, shared by tenants.
 */
const heldBytesMax = { unauthenticated: 16 * 1024 * 1024, callers: 32 * 1024 * 1024 } as const;
const usualTimes: HttpTimes = {
  firstMs: 10_000,
  headersMs: 60_000,
  publicBodyMs: 10_000,
  body: { everyMs: 60_000, bytesMin: 60 * 1024 },
  // Longer than load balancers keep a connection: the side that sends next should not find it closed.
  idleMs: 75_000,
  unreadMs: 120_000,
};
const usualCheckMs = 1000;
/** The grace period of a request in progress when the service ends. */
const graceMs = 5000;

type Fetch = (request: Request) => Response | Promise<Response>;

/** @throws if the port is not available */
export async function listenHttp(fetch: Fetch, deps: HttpListenerDeps): Promise<HttpListener> {
  const { config, meter, monotonic, times = usualTimes, checkMs = usualCheckMs } = deps;
  const { host } = config;
  const unread = createUnread({ variant: config.apiVariant, log: deps.log });
  const server = createHttpServer(fetch, deps, unread);
  const admission = createAdmission<HttpConnection>(deps.connectionsMax);
  const held = {
    unauthenticated: createShares<string>(heldBytesMax.unauthenticated),
    callers: createShares<number>(heldBytesMax.callers),
  };
  const connections = new Set<HttpConnection>();
  const ended = (reason: HttpEndReason) => count(meter.httpEnded, reason);

  const connectionDeps = {
    monotonic,
    onProven: admission.prove,
    onGivenWay: () => ended("gave_way"),
    hold: (holder: Holder, bytes: number): boolean =>
      "tenant" in holder
        ? change(held.callers, holder.tenant, bytes)
        : change(held.unauthenticated, addressBlock(holder.address), bytes),
    onUnheld: () => ended("held_bytes"),
  };
  // The server for the requests themselves never listens: it is given connections that pass it one request at a time.
  const listener = createTcpServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const connection = new HttpConnection(socket, connectionDeps);
    if (!admission.enter(connection)) {
      ended("full");
      return void connection.destroy();
    }
    connections.add(connection);
    meter.httpConnections++;
    connection.once("close", () => {
      connections.delete(connection);
      meter.httpConnections--;
      admission.leave(connection);
    });
    server.emit("connection", connection);
  });
  await listening(listener, config);
  const checks = setInterval(() => {
    for (const connection of connections) {
      const due = connection.overdue(times);
      if (due === null) continue;
      ended("timeout");
      if (due === "tell") unread.late(connection);
      else connection.destroy();
    }
  }, checkMs);

  const { port } = listener.address() as AddressInfo;
  let closed = Promise.resolve();
  return {
    address: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    stop: () => {
      closed = new Promise((resolve) => listener.close(() => resolve()));
      for (const connection of connections) if (connection.isIdle) connection.destroy();
    },
    closed: () => {
      setTimeout(() => {
        for (const connection of connections) connection.destroy();
      }, graceMs).unref();
      return closed.finally(() => clearInterval(checks));
    },
  };
}

function createHttpServer(
  fetch: Fetch,
  { config: { host }, devices }: Pick<HttpListenerDeps, "config" | "devices">,
  unread: ReturnType<typeof createUnread>,
): Server {
  const handle = getRequestListener(fetch, { hostname: host, errorHandler: unread.respond });
  const options = {
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: usualTimes.idleMs,
    requireHostHeader: false,
    // The connections themselves check how long each part of a request takes.
    headersTimeout: 0,
    requestTimeout: 0,
  };
  const server = createServer(options);
  const turns = createRequestTurns();
  const inTurn =
    (work: (request: IncomingMessage, response: ServerResponse) => void) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      unread.heard(request, response);
      const connection = connectionOf(request);
      connection?.handle(request, response, () =>
        turns.begin(laneOf(connection, request), () => {
          if (!response.destroyed) work(request, response);
        }),
      );
    };
  server.on(
    "request",
    inTurn((request, response) => {
      if (unread.refuse(request, response)) return;
      const connection = connectionOf(request);
      if (connection !== undefined && devices?.handle(request, response, connection) === true) return;
      void handle(request, response);
    }),
  );
  server.on(
    "checkExpectation",
    inTurn((_, response) => unread.unexpected(response)),
  );
  unread.attach(server);
  return server;
}

/** The client in whose turns a request counts. Health checks do not wait for their client's other requests. */
function laneOf({ client }: HttpConnection, { url = "" }: IncomingMessage): string {
  return url === "/readyz" || url === "/healthz" ? `${client} probes` : client;
}

/** @param bytes the change; negative to shrink */
function change<Name>(shares: Shares<Name>, name: Name, bytes: number): boolean {
  if (bytes > 0) return shares.take(name, bytes);
  shares.give(name, -bytes);
  return true;
}

/** The connection on which a request came. */
export function connectionOf(request: IncomingMessage | undefined): HttpConnection | undefined {
  const socket: unknown = request?.socket;
  return socket instanceof HttpConnection ? socket : undefined;
}

function listening(server: TcpServer, { host, httpPort }: Pick<Config, "host" | "httpPort">): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(httpPort, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
