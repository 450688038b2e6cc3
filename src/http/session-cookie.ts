/**
 * The session of a browser: its token in a cookie that no script can read (RFC 6265bis), and what a request that brings
 * it must show besides, because a browser sends cookies with whatever page makes it ask.
 */
import { createHash } from "node:crypto";
import { ApiError } from "./errors.js";

export interface SessionCookies {
  /**
   * The session's token among the cookies of a request; null if there is none. Over TLS only the cookie counts that a
   * browser took over TLS from this very host: any other may be of a neighbouring host, or of an attacker on the wire.
   */
  tokenOf(cookies: string | null | undefined, isSecure: boolean): string | null;
  /** The header that gives a browser its token, or takes it away (null). */
  header(token: string | null, isSecure: boolean): Readonly<Record<string, string>>;
}

/** How long a session of a browser lasts after the last thing that its person did, and how long at the most. */
export const idleMs = 12 * 3_600_000;
export const longestMs = 7 * 24 * 3_600_000;

/** By far longer than any token of ours: nothing longer is hashed. */
const tokenCharactersMax = 128;

/**
 * The cookie's name carries the deployment, because cookies are of a host, whatever the port.
 * @param deployment identifies this deployment among others on the same host; only its digest is shown
 */
export function createSessionCookies(deployment: string): SessionCookies {
  const name = `tidemark-${createHash("sha256").update(deployment).digest("hex").slice(0, 8)}`;
  // A browser takes a cookie of this prefix over HTTPS alone, of this host alone.
  const secureName = `__Host-${name}`;

  return {
    tokenOf: (cookies, isSecure) => {
      if (cookies === null || cookies === undefined) return null;
      const values = new Map(
        cookies.split(";").map((one): [string, string] => {
          const at = one.indexOf("=");
          return [one.slice(0, Math.max(0, at)).trim(), one.slice(at + 1).trim()];
        }),
      );
      const token = values.get(isSecure ? secureName : name) ?? "";
      return token === "" || token.length > tokenCharactersMax || token.includes(":") ? null : token;
    },
    header: (token, isSecure) => {
      const lasts = token === null ? 0 : longestMs / 1000;
      const value = `${isSecure ? secureName : name}=${token ?? ""}; Path=/; Max-Age=${lasts}; HttpOnly; SameSite=Strict`;
      return { "Set-Cookie": isSecure ? `${value}; Secure` : value };
    },
  };
}

/**
 * Other sites can make a browser send a request, but not with a header of ours, and it says where it comes from (Fetch
 * Metadata, or Origin where a browser sends none: over plain HTTP). @throws ApiError PERMISSION_DENIED
 */
export function requireSameOrigin({ headers, url }: Pick<Request, "headers" | "url">): void {
  const site = headers.get("sec-fetch-site");
  const isOwn = site === null ? parseHost(headers.get("origin")) === parseHost(url) : site === "same-origin";
  if (isOwn && ownWords.has(headers.get("x-tidemark") ?? "")) return;
  throw new ApiError(
    "PERMISSION_DENIED",
    "a request with a session's cookie must come from the service's own pages, with the header X-Tidemark: 1",
  );
}

/** `1`: a person has done something; `poll`: a page asks by itself. */
const ownWords: ReadonlySet<string> = new Set(["1", "poll"]);

/** Whether a page of ours says that a person is there. */
export function isPersonal({ headers }: Pick<Request, "headers">): boolean {
  return headers.get("x-tidemark") === "1";
}

function parseHost(url: string | null): string | null {
  try {
    return new URL(url ?? "").host;
  } catch {
    return null;
  }
}
