import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Config } from "../config.js";
import type { Logger } from "../log.js";
import { createUnread } from "./unread.js";

/** The HTTP listener. */
export interface HttpListener {
  /** http://host:port */
  readonly address: string;
  /** Takes no more connections. */
  stop(): void;
  /** Resolves when the requests under way have ended, after their grace at the latest. */
  closed(): Promise<void>;
}

/** How long a request may take to come, in milliseconds. */
export interface HttpTimes {
  readonly headersMs: number;
  /** The whole of it, body included. */
  readonly requestMs: number;
  /** How often connections are looked at for it. */
  readonly checkMs: number;
}

const headerBytesMax = 64 * 1024;
const usualTimes: HttpTimes = { headersMs: 60_000, requestMs: 300_000, checkMs: 30_000 };
/** Longer than what load balancers keep a connection for: the side that sends next should not find it closed. */
const idleMs = 75_000;
/** What a request under way has at the end. */
const graceMs = 5000;

type Fetch = (request: Request) => Response | Promise<Response>;

/** @throws when the port cannot be had */
export async function listenHttp(
  fetch: Fetch,
  config: Pick<Config, "host" | "httpPort" | "apiVariant">,
  log: Logger,
  times = usualTimes,
): Promise<HttpListener> {
  const { host } = config;
  const server = createHttpServer(fetch, config, log, times);
  await listening(server, config);
  const { port } = server.address() as AddressInfo;
  let ended = Promise.resolve();
  return {
    address: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    stop: () => {
      ended = new Promise((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
    },
    closed: () => {
      setTimeout(() => server.closeAllConnections(), graceMs).unref();
      return ended;
    },
  };
}

function createHttpServer(
  fetch: Fetch,
  { host, apiVariant }: Pick<Config, "host" | "apiVariant">,
  log: Logger,
  { headersMs, requestMs, checkMs }: HttpTimes,
): Server {
  const unread = createUnread({ variant: apiVariant, log });
  const handle = getRequestListener(fetch, { hostname: host, errorHandler: unread.respond });
  const options = {
    ...{ maxHeaderSize: headerBytesMax, keepAliveTimeout: idleMs, requireHostHeader: false },
    ...{ headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: checkMs },
  };
  const server = createServer(options, (request, response) => {
    if (!unread.refuse(request, response)) void handle(request, response);
  });
  unread.attach(server);
  return server;
}

function listening(server: Server, { host, httpPort }: Pick<Config, "host" | "httpPort">): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(httpPort, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
