import { randomUUID } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { apiRoutes } from "./api.js";
import type { AppDeps } from "./deps.js";
import { mountRoutes } from "./http/route.js";
import { wireOf } from "./service/http.js";

/** The HTTP API; never listens. */
export function createApp(deps: AppDeps): Hono {
  const app = new Hono();
  mountRoutes(app, apiRoutes(deps), {
    authenticator: deps.authenticator,
    log: deps.log,
    requestID: randomUUID,
    variant: deps.config.apiVariant,
    onCaller: (context, { tenant }) => {
      // Requests made within the process have no socket.
      const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
      wireOf(incoming)?.prove(tenant);
    },
    addressOf: (context) => {
      try {
        return getConnInfo(context).remote.address ?? "";
      } catch {
        // Requests made within the process have no socket.
        return "";
      }
    },
    hangUp: (context) => (context.env as Partial<HttpBindings> | undefined)?.outgoing?.destroy(),
  });
  return app;
}
