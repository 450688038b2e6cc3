import type { IncomingMessage } from "node:http";
import type { WebSocketTransport } from "../../ingest/transports/websocket/transport.js";

/**
 * Takes the prefix under which a proxy shows the service off the target of a request, if it is there: proxies that keep
 * it and proxies that remove it, probes and devices that come directly are all served.
 */
export function removeBasePath(url: string, basePath: string): string {
  if (basePath === "" || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest.startsWith("/")) return rest;
  return rest === "" || rest.startsWith("?") ? `/${rest}` : url;
}

type Upgrades = Pick<WebSocketTransport, "serves" | "upgrade">;

/** WebSockets with the prefix as those without. */
export function upgradesBelow(upgrades: Upgrades | undefined, basePath: string): Upgrades | undefined {
  if (upgrades === undefined || basePath === "") return upgrades;
  return {
    serves: (url) => upgrades.serves(removeBasePath(url, basePath)),
    upgrade: (request: IncomingMessage, ...others) => {
      request.url = removeBasePath(request.url ?? "", basePath);
      upgrades.upgrade(request, ...others);
    },
  };
}
