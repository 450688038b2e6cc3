import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve as serveHttp } from "@hono/node-server";
import type { Config } from "../config.js";

/** The HTTP listener. */
export interface HttpListener {
  /** http://host:port */
  readonly address: string;
  /** Takes no more connections. */
  stop(): void;
  /** Resolves when the requests under way have ended, after their grace at the latest. */
  closed(): Promise<void>;
}

const headerBytesMax = 64 * 1024;
/** Longer than what load balancers keep a connection for: the side that sends next should not find it closed. */
const idleMs = 75_000;
/** What a request under way has at the end. */
const graceMs = 5000;

/** @throws when the port cannot be had */
export async function listenHttp(
  fetch: (request: Request) => Response | Promise<Response>,
  config: Config,
): Promise<HttpListener> {
  const server = await listening(fetch, config);
  const { port } = server.address() as AddressInfo;
  const { host } = config;
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

function listening(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, httpPort }: Config,
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serveHttp(
      {
        fetch,
        hostname: host,
        port: httpPort,
        serverOptions: { maxHeaderSize: headerBytesMax, keepAliveTimeout: idleMs },
      },
      () => {
        server.off("error", reject);
        resolve(server as Server);
      },
    );
    server.once("error", reject);
  });
}
