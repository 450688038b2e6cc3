/** The requests that the series store makes of an InfluxDB 2 server; every failure is a StoreError or a status. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { HttpError, InfluxDB } from "@influxdata/influxdb-client";
import { systemClock } from "../../lib/clock.js";
import { StoreError } from "../../lib/errors.js";
import { singleFlight } from "../../lib/single-flight.js";
import { callerCancelled, createQuerySemaphore, type QueryCaller } from "../query-semaphore.js";
import { createBucketManager } from "./bucket.js";
import { foreignIn } from "./csv.js";
import { fluxFirstMoment } from "./flux.js";
import { createInfluxHealth, type InfluxState, type InfluxTrouble, InfluxUnavailable } from "./health.js";
import type { InfluxLedger } from "./ledger.js";

interface InfluxAccess {
  readonly url: string;
  readonly token: string;
  readonly org: string;
  readonly bucket: string;
  /** A request is given up after so long without an answer, or without the next byte of one. */
  readonly timeoutMs: number;
  /** Requests under way at once; more wait for a connection. */
  readonly connectionsMax: number;
  readonly ledger: InfluxLedger;
  /** Called when the server begins or ceases to serve. */
  readonly onState: (state: InfluxState) => void;
  /**
   * The bucket is there, with this id: called before it is used, and again once it has been made. Rejects if it is another
   * one than it should be: then every call does, until it is not.
   */
  readonly onBucketFound: ((id: string) => Promise<void>) | null;
  /** The bucket has been made; `again`: it was gone, with its points. No call uses the bucket before this has ended. */
  readonly onBucketMade: (again: boolean) => Promise<void>;
}

/** What the server said about a body of lines that it did not take whole. */
export interface LinesRefused {
  readonly status: number;
  readonly message: string;
}

export interface InfluxClient {
  /** Sends lines in one request. Undefined when all are stored; else why not. @throws StoreError UNAVAILABLE */
  write(body: Buffer | string): Promise<LinesRefused | undefined>;
  /**
   * The CSV answer as it arrives. With a caller it waits for the tenant's turn, and ends when the caller cancels.
   * @throws StoreError UNAVAILABLE
   */
  query(flux: string, asker?: QueryCaller): AsyncGenerator<Uint8Array>;
  /** Deletes the points of [start, stop] that match; RFC 3339. @throws StoreError UNAVAILABLE */
  remove(range: { readonly start: string; readonly stop: string }, predicate?: string): Promise<void>;
  /**
   * Asks for next to nothing, with the permissions that writes and queries need. Like them it makes a missing bucket,
   * if that is up to the service and the token may. @throws StoreError UNAVAILABLE
   */
  probe(): Promise<void>;
  /** Reads what the token may see of the bucket. @throws StoreError UNAVAILABLE */
  look(): Promise<void>;
  /** The length of the bucket's shards, microseconds. */
  readonly shardMicros: number;
  close(): void;
}

/** Takes the queries of one caller. */
export interface InfluxReader {
  query(flux: string): AsyncGenerator<Uint8Array>;
}

type Json = Readonly<Record<string, unknown>>;
type Fetch = (
  path: string,
  body: string | Buffer | Json,
  how?: { readonly method?: string; readonly type?: string; readonly signal?: AbortSignal | null },
) => AsyncGenerator<Uint8Array>;

/** The share of the connections for queries: writes never wait for these. */
const queriesPart = 3 / 4;

export function createInfluxClient(access: InfluxAccess): InfluxClient {
  const Agent = access.url.startsWith("https:") ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true, maxSockets: access.connectionsMax });
  const fetch = createFetch(access, agent);
  const org = encodeURIComponent(access.org);
  const bucket = encodeURIComponent(access.bucket);
  const bucketManager = createBucketManager({
    org: access.org,
    bucket: access.bucket,
    ledger: access.ledger,
    onFound: access.onBucketFound ?? (async () => undefined),
    onMade: access.onBucketMade,
    request: (path, body) =>
      drain(body === undefined ? fetch(path, "", { method: "GET" }) : fetch(path, body)),
  });
  const isBelieved = access.onBucketFound === null;
  /** A bucket that the token may not see is believed, too. */
  let isSeen = isBelieved;
  const seeing = singleFlight(async () => {
    await bucketManager.look();
    isSeen = true;
  });
  async function ensure(): Promise<void> {
    isSeen = isBelieved;
    await bucketManager.ensure();
    isSeen = true;
  }
  /** Once the bucket has been seen; a missing one is made, if that is up to the service. */
  async function withBucket<T>(action: () => Promise<T>): Promise<T> {
    if (!isSeen) await seeing.run();
    try {
      return await action();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await ensure();
      return action();
    }
  }
  const health = createInfluxHealth(systemClock.monotonic, access.onState);
  const semaphore = createQuerySemaphore(Math.max(1, Math.floor(access.connectionsMax * queriesPart)));
  const writePath = `/api/v2/write?org=${org}&bucket=${bucket}&precision=ns`;

  function sendLines(body: Buffer | string): Promise<LinesRefused | undefined> {
    const send = () => drain(fetch(writePath, body, { type: "text/plain; charset=utf-8" }));
    return health.observe("writes", async () => {
      try {
        await withBucket(send);
        return undefined;
      } catch (error) {
        const refused = linesRefused(error);
        if (refused) return refused;
        throw unavailable("write to", error);
      }
    });
  }

  async function* askAgain(flux: string, signal: AbortSignal | null = null): AsyncGenerator<Uint8Array> {
    const dialect = { header: true, annotations: ["datatype"], dateTimeFormat: "RFC3339Nano" };
    const ask = () => fetch(`/api/v2/query?org=${org}`, { type: "flux", query: flux, dialect }, { signal });
    try {
      if (!isSeen) await seeing.run();
      yield* ask();
    } catch (error) {
      if (!isMissing(error)) throw unanswered(error);
      try {
        await ensure(); // a 404 comes before any row
        yield* ask();
      } catch (again) {
        throw unanswered(again);
      }
    }
  }

  return {
    look: () =>
      bucketManager.look().catch((error: unknown) => {
        throw unavailable("look at the bucket of", error);
      }),
    get shardMicros() {
      return bucketManager.shardMicros;
    },
    close: () => agent.destroy(),
    write: sendLines,
    query: (flux, asker) => {
      if (asker === undefined) return health.observeAll("queries", () => askAgain(flux));
      return semaphore.answer(asker, () => health.observeAll("queries", () => askAgain(flux, asker.signal)));
    },
    probe: async () => {
      // A server that misses the lines answers 400, which says that all else is well.
      const noLines = health.observe("writes", async () => {
        try {
          await withBucket(() => drain(fetch(writePath, "", { type: "text/plain" })));
        } catch (error) {
          if (!(error instanceof HttpError && error.statusCode === 400)) throw unavailable("write to", error);
        }
      });
      const noRows = drain(health.observeAll("queries", () => askAgain(fluxFirstMoment(access.bucket))));
      const ends = await Promise.allSettled([noLines, noRows]);
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    },
    async remove(range, predicate) {
      const body = { ...range, ...(predicate === undefined ? {} : { predicate }) };
      const send = () => drain(fetch(`/api/v2/delete?org=${org}&bucket=${bucket}`, body));
      await health.observe("writes", () =>
        withBucket(send).catch((error: unknown) => {
          throw unavailable("delete from", error);
        }),
      );
    },
  };
}

/**
 * The client's own timeouts leave a stalled answer hanging and its connection open; aborting the request ends both. The
 * server may have closed a kept connection, and a query may meet a bucket that is just being made: every request
 * here may be repeated, so it is, once.
 */
function createFetch(access: InfluxAccess, agent: HttpAgent): Fetch {
  const { url, token, timeoutMs } = access;
  const { transport } = new InfluxDB({ url, token, timeout: timeoutMs * 2, transportOptions: { agent } });
  return async function* (path, body, { method = "POST", type = "application/json", signal = null } = {}) {
    for (let attempt = 1; ; attempt += 1) {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), timeoutMs);
      const leave = (): void => abort.abort();
      signal?.addEventListener("abort", leave);
      let started = false;
      try {
        if (signal?.aborted === true) throw callerCancelled();
        const options = { method, headers: { "content-type": type }, signal: abort.signal };
        const isReady = typeof body === "string" || Buffer.isBuffer(body);
        // Its type says string; it makes a buffer of what it is given, and of a buffer as well.
        const text = (isReady ? body : JSON.stringify(body)) as string;
        for await (const chunk of transport.iterate(path, text, options)) {
          started = true;
          timer.refresh();
          yield chunk;
        }
        return;
      } catch (error) {
        if (signal?.aborted === true) throw callerCancelled();
        if (abort.signal.aborted)
          throw new TimeoutError(`no answer within ${timeoutMs} ms`, { cause: error });
        if (started || attempt > 1 || !(isReset(error) || isPassing(error))) throw error;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
      }
    }
  };
}

class TimeoutError extends Error {}

/** Whether the answer is about the lines themselves: a 400 about the request as a whole must not cost points. */
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

/** Whether the failure may pass: so the server answers where it names no reason. */
function isPassing(error: unknown): boolean {
  return error instanceof HttpError && error.statusCode === 500 && /internal error/i.test(error.message);
}

function unavailable(verb: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error.message || error.name : String(error);
  const retryAfterMs = error instanceof HttpError ? readRetryAfter(error) : undefined;
  const fields = retryAfterMs === undefined ? {} : { retryAfterMs: String(retryAfterMs) };
  const message = `cannot ${verb} InfluxDB: ${cause}`;
  if (isOfRequest(error)) return new StoreError("UNAVAILABLE", message, fields, { cause: error });
  return new InfluxUnavailable(toTrouble(error), message, fields, { cause: error });
}

/** A query that fails because of what the bucket holds says nothing about the server. */
function unanswered(error: unknown): Error {
  const foreign = error instanceof HttpError ? foreignIn(error.message) : null;
  return foreign ?? unavailable("query", error);
}

const troubles: Readonly<Record<number, InfluxTrouble>> = {
  401: "token",
  403: "token",
  404: "bucket",
  429: "busy",
};

/** Whether the server serves, but not this one request. */
function isOfRequest(error: unknown): boolean {
  return error instanceof HttpError && [400, 413, 422].includes(error.statusCode);
}

function toTrouble(error: unknown): InfluxTrouble {
  if (error instanceof TimeoutError) return "timeout";
  return (error instanceof HttpError && troubles[error.statusCode]) || "away";
}

/**
 * From the header, since the client takes its seconds for milliseconds. RFC 9110 allows a date as well: it is compared
 * with the server's own date, for our clock may differ.
 */
function readRetryAfter(error: HttpError): number | undefined {
  const readHeader = (name: string): string => String(error.headers?.[name] ?? "");
  const header = readHeader("retry-after");
  if (header === "") return undefined;
  const isSeconds = /^\d+$/.test(header);
  const delayMs = isSeconds ? Number(header) * 1000 : Date.parse(header) - Date.parse(readHeader("date"));
  return Number.isNaN(delayMs) ? undefined : Math.max(0, delayMs);
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}
