import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { addressBlock } from "../../ingest/access/address-block.js";
import { createAdmission } from "../../ingest/access/admission.js";
import { count, type HttpEndReason, type Meter } from "../../ingest/meter.js";
import { createShares, type Shares } from "../../store/lib/shares.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import { createRequestTurns } from "./request-turns.js";
import { createUnread } from "./unread.js";
import { type Holder, type HttpTimes, HttpWire } from "./wire.js";

/** The HTTP listener. */
export interface HttpListener {
  /** http://host:port */
  readonly address: string;
  /** Takes no more connections. */
  stop(): void;
  /** Resolves when the requests under way have ended, after their grace at the latest. */
  closed(): Promise<void>;
}

export interface HttpListenerDeps {
  readonly config: Pick<Config, "host" | "httpPort" | "apiVariant">;
  readonly log: Logger;
  readonly meter: Meter;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** Connections at once. */
  readonly connectionsMax: number;
  readonly times?: HttpTimes;
  /** How often connections are looked at for what they owe, milliseconds. */
  readonly checkMs?: number;
}

const headerBytesMax = 64 * 1024;
/**
 * Of requests that have not come whole, and of what follows one that is not answered yet: of all connections on which
 * nobody has shown a right credential, shared by addresses, and of all others, shared by tenants.
 */
const heldBytesMax = { strangers: 16 * 1024 * 1024, callers: 32 * 1024 * 1024 } as const;
const usualTimes: HttpTimes = {
  firstMs: 10_000,
  headersMs: 60_000,
  publicBodyMs: 10_000,
  body: { everyMs: 60_000, bytesMin: 60 * 1024 },
  // Longer than what load balancers keep a connection for: the side that sends next should not find it closed.
  idleMs: 75_000,
  unreadMs: 120_000,
};
const usualCheckMs = 1000;
/** What a request under way has at the end. */
const graceMs = 5000;

type Fetch = (request: Request) => Response | Promise<Response>;

/** @throws when the port cannot be had */
export async function listenHttp(fetch: Fetch, deps: HttpListenerDeps): Promise<HttpListener> {
  const { config, meter, monotonic, times = usualTimes, checkMs = usualCheckMs } = deps;
  const { host } = config;
  const unread = createUnread({ variant: config.apiVariant, log: deps.log });
  const server = createHttpServer(fetch, config, unread);
  const admission = createAdmission<HttpWire>(deps.connectionsMax);
  const held = {
    strangers: createShares<string>(heldBytesMax.strangers),
    callers: createShares<number>(heldBytesMax.callers),
  };
  const wires = new Set<HttpWire>();
  const ended = (reason: HttpEndReason) => count(meter.httpEnded, reason);

  const wireDeps = {
    monotonic,
    onProven: admission.prove,
    onGivenWay: () => ended("gave_way"),
    hold: (holder: Holder, bytes: number): boolean =>
      "tenant" in holder
        ? change(held.callers, holder.tenant, bytes)
        : change(held.strangers, addressBlock(holder.address), bytes),
    onUnheld: () => ended("held_bytes"),
  };
  // The requests' own server never listens: it is given connections that hand it one request at a time.
  const listener = createTcpServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const wire = new HttpWire(socket, wireDeps);
    if (!admission.enter(wire)) {
      ended("full");
      return void wire.destroy();
    }
    wires.add(wire);
    meter.httpConnections++;
    wire.once("close", () => {
      wires.delete(wire);
      meter.httpConnections--;
      admission.leave(wire);
    });
    server.emit("connection", wire);
  });
  await listening(listener, config);
  const checks = setInterval(() => {
    for (const wire of wires) {
      const due = wire.overdue(times);
      if (due === null) continue;
      ended("timeout");
      if (due === "tell") unread.late(wire);
      else wire.destroy();
    }
  }, checkMs);

  const { port } = listener.address() as AddressInfo;
  let closed = Promise.resolve();
  return {
    address: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    stop: () => {
      closed = new Promise((resolve) => listener.close(() => resolve()));
      for (const wire of wires) if (wire.isIdle) wire.destroy();
    },
    closed: () => {
      setTimeout(() => {
        for (const wire of wires) wire.destroy();
      }, graceMs).unref();
      return closed.finally(() => clearInterval(checks));
    },
  };
}

function createHttpServer(
  fetch: Fetch,
  { host }: Pick<Config, "host">,
  unread: ReturnType<typeof createUnread>,
): Server {
  const handle = getRequestListener(fetch, { hostname: host, errorHandler: unread.respond });
  const options = {
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: usualTimes.idleMs,
    requireHostHeader: false,
    // The wires know what a request owes, and when.
    headersTimeout: 0,
    requestTimeout: 0,
  };
  const server = createServer(options);
  const turns = createRequestTurns();
  const inTurn =
    (work: (request: IncomingMessage, response: ServerResponse) => void) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      unread.heard(request, response);
      const wire = wireOf(request);
      wire?.workOff(request, response, () =>
        turns.begin(laneOf(wire, request), () => {
          if (!response.destroyed) work(request, response);
        }),
      );
    };
  server.on(
    "request",
    inTurn((request, response) => {
      if (!unread.refuse(request, response)) void handle(request, response);
    }),
  );
  server.on(
    "checkExpectation",
    inTurn((_, response) => unread.unexpected(response)),
  );
  unread.attach(server);
  return server;
}

/** Whose turn a request is. What asks whether the service is well waits behind no other requests of its client. */
function laneOf({ client }: HttpWire, { url = "" }: IncomingMessage): string {
  return url === "/readyz" || url === "/healthz" ? `${client} probes` : client;
}

/** @param bytes that it holds more, or less where they are below 0 */
function change<Name>(shares: Shares<Name>, name: Name, bytes: number): boolean {
  if (bytes > 0) return shares.take(name, bytes);
  shares.give(name, -bytes);
  return true;
}

/** The connection that a request has come by. */
export function wireOf(request: IncomingMessage | undefined): HttpWire | undefined {
  const socket: unknown = request?.socket;
  return socket instanceof HttpWire ? socket : undefined;
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
