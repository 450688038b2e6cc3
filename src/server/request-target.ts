import type { IncomingMessage } from "node:http";

const absoluteForm = /^https?:\/\/(?:[^/?#@]*@)?([^/?#@]+)([/?].*)?$/is;

/**
 * Brings a target in absolute form, which every server has to take (RFC 9112 §3.2.2), to the form of all others. Its
 * authority counts then, and no longer `Host`.
 */
export function toOriginForm(request: Pick<IncomingMessage, "url" | "headers">): void {
  if (request.url === undefined || request.url.startsWith("/")) return;
  const [, authority, rest = "/"] = absoluteForm.exec(request.url) ?? [];
  if (authority === undefined) return;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  // Without one the request lacks what HTTP/1.1 requires.
  if (request.headers.host !== undefined) request.headers.host = authority;
}
