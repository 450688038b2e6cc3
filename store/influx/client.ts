/** The requests that the series store makes of an InfluxDB 2 server; every failure is a StoreError or a status. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { HttpError, InfluxDB } from "@influxdata/influxdb-client";
import { StoreError } from "../errors.js";

export interface InfluxAccess {
  readonly url: string;
  readonly token: string;
  readonly org: string;
  readonly bucket: string;
  /** A request without an answer, or an answer without a next byte, for so long is given up. */
  readonly timeoutMs: number;
  /** Requests under way at once; more wait for a connection. */
  readonly connectionsMax: number;
}

/** What the server said about a body of lines that it did not take whole. */
export interface LinesRefused {
  readonly status: number;
  readonly message: string;
}

export interface InfluxClient {
  /** Sends lines in one request. Undefined when all are stored; else why not. @throws StoreError UNAVAILABLE */
  write(body: string): Promise<LinesRefused | undefined>;
  /** The CSV answer as it arrives. @throws StoreError UNAVAILABLE */
  query(flux: string): AsyncGenerator<Uint8Array>;
  /** Deletes the points of [start, stop] that match; RFC 3339. @throws StoreError UNAVAILABLE */
  remove(range: { readonly start: string; readonly stop: string }, predicate?: string): Promise<void>;
  /** Makes the bucket if it is missing and the token may. @throws StoreError UNAVAILABLE */
  ensureBucket(): Promise<void>;
  close(): void;
}

type Json = Readonly<Record<string, unknown>>;
type Fetch = (
  path: string,
  body: string | Json,
  method?: string,
  type?: string,
) => AsyncGenerator<Uint8Array>;

export function createInfluxClient(access: InfluxAccess): InfluxClient {
  const Agent = access.url.startsWith("https:") ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true, maxSockets: access.connectionsMax });
  const fetch = createFetch(access, agent);
  const org = encodeURIComponent(access.org);
  const bucket = encodeURIComponent(access.bucket);
  const ensureBucket = () => makeBucket(fetch, access);

  return {
    ensureBucket,
    close: () => agent.destroy(),
    async write(body) {
      const path = `/api/v2/write?org=${org}&bucket=${bucket}&precision=ns`;
      const send = () => drain(fetch(path, body, "POST", "text/plain; charset=utf-8"));
      try {
        await withBucket(send, ensureBucket);
        return undefined;
      } catch (error) {
        const refused = linesRefused(error);
        if (refused) return refused;
        throw unavailable("write to", error);
      }
    },
    async *query(flux) {
      const dialect = { header: true, annotations: [], dateTimeFormat: "RFC3339Nano" };
      const ask = () => fetch(`/api/v2/query?org=${org}`, { type: "flux", query: flux, dialect });
      try {
        yield* ask();
      } catch (error) {
        if (!isMissing(error)) throw unavailable("query", error);
        await ensureBucket(); // a 404 comes before any row
        try {
          yield* ask();
        } catch (again) {
          throw unavailable("query", again);
        }
      }
    },
    async remove(range, predicate) {
      const body = { ...range, ...(predicate === undefined ? {} : { predicate }) };
      try {
        await drain(fetch(`/api/v2/delete?org=${org}&bucket=${bucket}`, body));
      } catch (error) {
        throw unavailable("delete from", error);
      }
    },
  };
}

/**
 * The client's own timeouts leave a stalled answer hanging and its connection open; an aborted request ends
 * both. A kept connection may turn out closed by the server: every request here may be repeated, so it is, once.
 */
function createFetch(access: InfluxAccess, agent: HttpAgent): Fetch {
  const { url, token, timeoutMs } = access;
  const { transport } = new InfluxDB({ url, token, timeout: timeoutMs * 2, transportOptions: { agent } });
  return async function* (path, body, method = "POST", type = "application/json") {
    for (let attempt = 1; ; attempt += 1) {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), timeoutMs);
      let started = false;
      try {
        const options = { method, headers: { "content-type": type }, signal: abort.signal };
        const text = typeof body === "string" ? body : JSON.stringify(body);
        for await (const chunk of transport.iterate(path, text, options)) {
          started = true;
          timer.refresh();
          yield chunk;
        }
        return;
      } catch (error) {
        if (abort.signal.aborted) throw new Error(`no answer within ${timeoutMs} ms`, { cause: error });
        if (started || attempt > 1 || !isReset(error)) throw error;
      } finally {
        clearTimeout(timer);
      }
    }
  };
}

async function makeBucket(fetch: Fetch, { org, bucket }: InfluxAccess): Promise<void> {
  try {
    const query = `org=${encodeURIComponent(org)}&name=${encodeURIComponent(bucket)}`;
    const found = await listOf(fetch, `/api/v2/buckets?${query}`, "buckets");
    if (found.length > 0) return;
    const [owner] = await listOf(fetch, `/api/v2/orgs?org=${encodeURIComponent(org)}`, "orgs");
    if (owner) await drain(fetch("/api/v2/buckets", { orgID: owner.id, name: bucket, retentionRules: [] }));
  } catch (error) {
    // A token for one bucket may neither list nor make buckets; 422: another process made it just now.
    if (error instanceof HttpError && [401, 403, 404, 422].includes(error.statusCode)) return;
    throw unavailable("reach the bucket of", error);
  }
}

async function listOf(fetch: Fetch, path: string, key: string): Promise<Json[]> {
  try {
    const answer = JSON.parse(await drain(fetch(path, "", "GET"))) as Record<string, Json[] | undefined>;
    return answer[key] ?? [];
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function withBucket<T>(action: () => Promise<T>, ensureBucket: () => Promise<void>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!isMissing(error)) throw error;
    await ensureBucket();
    return action();
  }
}

/** Only an answer about the lines themselves: a 400 about the request as a whole must not cost points. */
function linesRefused(error: unknown): LinesRefused | undefined {
  if (!(error instanceof HttpError)) return undefined;
  const { statusCode: status, message } = error;
  if (status === 413 || status === 422) return { status, message };
  const aboutLines = /unable to parse|partial write|line protocol|max(imum)? line/i.test(message);
  return status === 400 && aboutLines ? { status, message } : undefined;
}

function isMissing(error: unknown): boolean {
  return error instanceof HttpError && error.statusCode === 404;
}

function isReset(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

function unavailable(verb: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error.message || error.name : String(error);
  const retryAfterMs = error instanceof HttpError ? retryAfterOf(error) : undefined;
  const fields = retryAfterMs === undefined ? {} : { retryAfterMs: String(retryAfterMs) };
  return new StoreError("UNAVAILABLE", `cannot ${verb} InfluxDB: ${cause}`, fields, { cause: error });
}

/** From the header, since the client takes its seconds for milliseconds; RFC 9110 allows a date as well. */
function retryAfterOf(error: HttpError): number | undefined {
  const header = String(error.headers?.["retry-after"] ?? "");
  if (header === "") return undefined;
  const delayMs = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(delayMs) ? undefined : Math.max(0, delayMs);
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}
