import type { IncomingMessage } from "node:http";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import { clientHeader, writeClient } from "./relayed-client.js";

/** The head of a request for another protocol, as it came, and whose it is. */
export function upgradeHead({ method, url, rawHeaders }: IncomingMessage, client: RelayedClient): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (name.toLowerCase() !== clientHeader) lines.push(`${name}: ${value}`);
  }
  return `${[...lines, `${clientHeader}: ${writeClient(client)}`].join("\r\n")}\r\n\r\n`;
}
