import type { IncomingHttpHeaders } from "node:http";
import type { Proxies } from "./proxies.js";

/** Finds the client of a request from `peer` (canonical), by what trusted proxies say in its headers. */
export function readClientAddress(proxies: Proxies, peer: string, headers: IncomingHttpHeaders): string {
  const list = headers["x-forwarded-for"];
  const forwardedList = Array.isArray(list) ? list.join(",") : list;
  return proxies.clientOf(peer, { forwarded: headers.forwarded, "x-forwarded-for": forwardedList });
}
