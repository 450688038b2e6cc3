import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { createProxies, type Proxies } from "../../ingest/access/proxies.js";
import { mountConsole } from "../console/serve.js";
import { listFramers } from "../dashboards/shared-page.js";
import { clientAddress } from "../http/client-address.js";
import { ApiError } from "../http/errors.js";
import { mountRoutes } from "../http/frame.js";
import { createWritings } from "../http/writing.js";
import type { AppDeps } from "../routes/deps.js";
import { findPeer } from "../server/http-peers.js";
import { createStamp } from "../views/context.js";
import { allowOrigins } from "./cors.js";
import { apiRoutes } from "./routes.js";

/** The HTTP API. It does not listen; `src/server` does. */
export function createApp(deps: AppDeps): Hono {
  const app = new Hono();
  const proxies = createProxies(deps.config.trustedProxies);
  const addressOf = (context: Context): string => {
    const headers = {
      forwarded: context.req.header("forwarded"),
      "x-forwarded-for": context.req.header("x-forwarded-for"),
    };
    return clientAddress(socketAddress(context), headers, proxies);
  };
  const { basePath, corsOrigins } = deps.config;
  if (corsOrigins.length > 0) app.use("/api/v1/*", allowOrigins(corsOrigins));
  mountRoutes(app, apiRoutes(deps), {
    authenticator: deps.authenticator,
    cookies: deps.cookies,
    isSecure: (context) => isSecure(context, proxies),
    shares: deps.shares,
    log: deps.log,
    requestID: randomUUID,
    variant: deps.config.apiVariant,
    writingOf: createWritings(createStamp(deps.zone)),
    room: deps.answers,
    onSent: ({ env }, then) => {
      const { outgoing } = (env ?? {}) as Partial<HttpBindings>;
      if (outgoing === undefined || outgoing.destroyed) then();
      else outgoing.once("close", then);
    },
    requests: deps.requests,
    sourceOf: ({ env, req }) =>
      (env as Partial<HttpBindings> | undefined)?.incoming ??
      Readable.fromWeb((req.raw.body ?? new Blob([]).stream()) as never),
    onCaller: (context, { tenant }) => {
      // Requests made within the process have no socket.
      const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
      findPeer(incoming)?.prove(tenant);
    },
    addressOf,
    askNode: async (context, node, json) => {
      const peer = findPeer((context.env as Partial<HttpBindings> | undefined)?.incoming);
      // Two nodes that do not agree yet where the device is: one of them has heard of its new parent.
      if (deps.cluster === null || peer?.isRelayed !== false) {
        throw new ApiError("SERVICE_UNAVAILABLE", "the device is about to be at another node");
      }
      const client = { address: addressOf(context), isSecure: isSecure(context, proxies), certificate: null };
      return deps.cluster.ask(node, { request: context.req.raw, json, client });
    },
    untilPlaced: async (shard) => deps.cluster?.untilPlaced(shard),
    hangUp: (context) => (context.env as Partial<HttpBindings> | undefined)?.outgoing?.destroy(),
  });
  mountConsole(app, basePath, (digest) => listFramers(deps, digest));
  // The router builds its table at the first match, which takes a tenth of a second. Do it now, while nobody waits.
  app.router.match("GET", "/");
  return app;
}

/** The client's own connection: of a proxy that is trusted, what it says of it. */
function isSecure({ env, req }: Context, proxies: Proxies): boolean {
  const peer = findPeer((env as Partial<HttpBindings> | undefined)?.incoming);
  if (peer === undefined) return false;
  if (!proxies.trusts(peer.address)) return peer.isSecure;
  const [forwarded] = req.header("x-forwarded-proto")?.split(",") ?? [];
  return forwarded === undefined ? peer.isSecure : forwarded.trim().toLowerCase() === "https";
}

/** Requests made within the process have no socket. */
function socketAddress({ env }: Context): string | undefined {
  return findPeer((env as Partial<HttpBindings> | undefined)?.incoming)?.address;
}
