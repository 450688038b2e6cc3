import { canonicalAddress } from "./address-block.js";

/** One pair of RFC 7239 §4; an unquoted value may hold what a node name needs, as many write it. */
const pair = /[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))[ \t]*/y;

/**
 * What `for` says in each element of the header Forwarded (RFC 7239), from left to right; null for one that says
 * nothing. Null as a whole if the header is malformed: what a client wrote to the left of a proxy's element must
 * not be able to swallow it.
 */
export function forwardedFor(header: string): (string | null)[] | null {
  const found: (string | null)[] = [null];
  for (let at = 0; at < header.length; at++) {
    pair.lastIndex = at;
    const [whole = "", name = "", quoted, plain = ""] = pair.exec(header) ?? [];
    if (whole === "") return null;
    if (name.toLowerCase() === "for") found[found.length - 1] = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain;
    at += whole.length;
    if (header[at] === ",") found.push(null);
    else if (header[at] !== ";" && at < header.length) return null;
  }
  return found;
}

/** The address of a node as both headers have it, with or without a port; null for `unknown` and hidden ones. */
export function nodeAddress(text: string): string | null {
  const node = text.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\w+)?$/.exec(node) ?? [];
  if (bracketed !== undefined) return canonicalAddress(bracketed);
  const [, host] = /^([\d.]+):\w+$/.exec(node) ?? [];
  return canonicalAddress(host ?? node);
}
