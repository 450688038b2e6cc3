import type { IncomingMessage } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { type Admitted, createAdmission } from "../../ingest/access/admission.js";
import { readClientAddress } from "../../ingest/access/client-address.js";
import { createProxies } from "../../ingest/access/proxies.js";
import type { Meter } from "../../ingest/meter.js";
import type { HttpPeer } from "../../ingest/transports/http/peer.js";
import type { HttpTransport } from "../../ingest/transports/http/transport.js";
import type { WebSocketTransport } from "../../ingest/transports/websocket/transport.js";
import { type Config, ConfigError } from "../config/config.js";
import type { RequestBudget } from "../http/request-budget.js";
import type { Logger } from "../observability/log.js";
import { upgradesBelow } from "./base-path.js";
import { createConnectionPool } from "./connection-pool.js";
import type { HttpTimes } from "./http-connection.js";
import { createHttp1Server } from "./http1-server.js";
import { createRelayedServer } from "./relayed-requests.js";
import { createRequestHandling, type Fetch } from "./request-handling.js";
import { createRequestScheduler } from "./request-scheduler.js";
import { createSecurePort, type SecurePortDeps } from "./secure-port.js";
import { createUnread } from "./unread-bodies.js";

/** The HTTP listeners. */
export interface HttpListener {
  /** http://host:port */
  readonly address: string;
  /** https://host:port; null if it is off. */
  readonly secure: string | null;
  /** Takes a link of the cluster, by which another node passes requests on. */
  takeRelayed(socket: Duplex): void;
  /** Takes no more connections. */
  stop(): void;
  /** Resolves once the requests in progress have ended, at the latest after their grace period. */
  closed(): Promise<void>;
}

export interface HttpListenerDeps {
  readonly config: Pick<Config, "host" | "httpPort" | "apiVariant" | "trustedProxies" | "basePath">;
  readonly log: Logger;
  readonly meter: Meter;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Connections at once, of both listeners. */
  readonly connectionsMax: number;
  readonly requests: RequestBudget;
  /** Answers the requests of devices. */
  readonly devices?: Pick<HttpTransport, "handle">;
  /** Takes the WebSockets of devices. */
  readonly webSockets?: Pick<WebSocketTransport, "serves" | "upgrade">;
  /** HTTP over TLS besides; absent: off. */
  readonly tls?: Pick<SecurePortDeps, "config" | "identity" | "follow"> & { readonly port: number };
  readonly times?: HttpTimes;
  /** How often connections are checked for being late, in milliseconds. */
  readonly checkMs?: number;
}

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

/** @throws ConfigError for a port that is not available */
export async function listenHttp(fetch: Fetch, deps: HttpListenerDeps): Promise<HttpListener> {
  const { config, log, meter, monotonic, tls, times = usualTimes, checkMs = usualCheckMs } = deps;
  const { host, basePath } = config;
  const unread = createUnread({ variant: config.apiVariant, log });
  const turns = createRequestScheduler();
  const handling = createRequestHandling(fetch, { host, basePath, unread, turns, devices: deps.devices });
  const upgrades = upgradesBelow(deps.webSockets, basePath);
  const relayed = createRelayedServer(handling, upgrades);
  const proxies = createProxies(config.trustedProxies);
  const ipOf = ({ headers }: IncomingMessage, { address }: HttpPeer) =>
    readClientAddress(proxies, address, headers);
  const admission = createAdmission<Admitted>(deps.connectionsMax);
  const pool = createConnectionPool({
    meter,
    monotonic,
    admission,
    times,
    unread,
    requests: deps.requests,
    turns,
    basePath,
    http1: createHttp1Server(handling, {
      unread,
      idleMs: usualTimes.idleMs,
      upgrades,
      ipOf,
    }),
  });
  const plain = createServer({ noDelay: true, allowHalfOpen: true }, pool.takePlain);
  const secure =
    tls === undefined
      ? null
      : createSecurePort({ ...tls, meter, monotonic, admission, take: pool.takeSecure });
  await listening(plain, "HTTP_PORT", host, config.httpPort);
  if (secure !== null && tls !== undefined) {
    await listening(secure.server, "HTTPS_PORT", host, tls.port).catch((error: unknown) => {
      plain.close();
      throw error;
    });
  }
  const checks = setInterval(() => {
    pool.check();
    secure?.sweep();
  }, checkMs);

  const servers = secure === null ? [plain] : [plain, secure.server];
  let closed: Promise<unknown> = Promise.resolve();
  return {
    address: `http://${formatHost(host)}:${readPort(plain)}`,
    secure: secure === null ? null : `https://${formatHost(host)}:${readPort(secure.server)}`,
    takeRelayed: (socket) => relayed.emit("connection", socket),
    stop: () => {
      closed = Promise.all(
        servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
      );
      pool.closeIdle();
    },
    closed: () => {
      setTimeout(pool.destroy, graceMs).unref();
      return closed.then(() => undefined).finally(() => clearInterval(checks));
    },
  };
}

const formatHost = (host: string): string => (host.includes(":") ? `[${host}]` : host);
const readPort = (server: Server): number => (server.address() as AddressInfo).port;

function listening(server: Server, setting: string, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(
        new ConfigError([`${setting}: cannot listen on ${host}:${port}: ${error.code ?? error.message}`]),
      );
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
      resolve();
    });
  });
}
