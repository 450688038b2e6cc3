import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { headers } from "../reference/headers.js";

/** Headers of requests that callers send. */
const requestHeaders = [
  ...["Authorization", "Content-Type", "Content-Encoding", "If-None-Match", "Last-Event-ID"],
  ...["Api-Variant", "Time-Format", "Label-Language"],
];
/** Seconds; browsers keep an answer to a preflight for no longer than two hours. */
const preflightSeconds = 7200;

/**
 * Lets pages of the listed origins call the API with a key or a token (Fetch standard, CORS protocol). Never with a
 * session's cookie: without `Access-Control-Allow-Credentials` browsers show no answer to a request that has one.
 */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler {
  const listed = cors({
    origin: [...origins],
    allowMethods: ["GET", "HEAD", "POST", "PUT", "DELETE"],
    allowHeaders: requestHeaders,
    exposeHeaders: [...Object.keys(headers), "Content-Disposition"],
    maxAge: preflightSeconds,
  });
  return async (context, next) => {
    if (origins.includes(context.req.header("origin") ?? "")) return listed(context, next);
    await next();
    context.header("Vary", "Origin", { append: true });
  };
}
