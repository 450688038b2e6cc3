import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { createSlots } from "./parallel.js";
import { qualitiesOf } from "./qualities.js";
import type { Answer } from "./route.js";

/** Shorter texts fit one packet as they are. */
const gzipCharactersMin = 1024;
/** Compressing shares the threads of the pool with the journal's writes. */
const gzipSlot = createSlots(2);
const compress = promisify(gzip);

/**
 * JSON that its reader may know already: 304 where `If-None-Match` names its tag, gzip where that is accepted. The
 * tag is of the content, however encoded.
 */
export async function knownAnswer(
  request: Request,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const text = JSON.stringify(body);
  const tag = tagOf(text, headers);
  const all = { ...headers, ETag: tag, "Cache-Control": "private, no-cache", Vary: "Accept-Encoding" };
  if (isKnown(request.headers.get("if-none-match"), tag)) return { status: 304, headers: all };
  if (text.length < gzipCharactersMin || !acceptsGzip(request.headers.get("accept-encoding"))) {
    return { status: 200, body: text, type: "application/json; charset=utf-8", headers: all };
  }
  const packed = await gzipSlot(() => compress(text, { level: 4 }));
  return {
    status: 200,
    body: new Uint8Array(packed),
    type: "application/json; charset=utf-8",
    headers: { ...all, "Content-Encoding": "gzip" },
  };
}

function tagOf(text: string, headers: Readonly<Record<string, string>>): string {
  const hash = createHash("sha1").update(text).update(JSON.stringify(headers));
  return `W/"${hash.digest("base64url")}"`;
}

/** RFC 9110 13.1.2: a list of tags, compared weakly, or *. */
export function isKnown(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  const bare = (one: string) => one.trim().replace(/^W\//, "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((one) => bare(one) === bare(tag));
}

/** RFC 9110 12.5.3: gzip by its name or by *, unless its quality is 0. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const qualities = qualitiesOf(acceptEncoding);
  return (qualities.get("gzip") ?? qualities.get("x-gzip") ?? qualities.get("*") ?? 0) > 0;
}
