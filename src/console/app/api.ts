/** Calls of the public API, with the session's cookie. The console uses nothing else. */

import { api } from "./base.js";
import { personOrPoll } from "./person.js";

/** An answer that is an error, in the form that every error of the API has. */
export class ApiFailure extends Error {
  constructor(
    /** 0: no answer came; -1: the page itself is at fault. */
    readonly status: number,
    readonly errorCode: string,
    message: string,
    /** The fault of each field. */
    readonly fields: Readonly<Record<string, string>> = {},
    /** Seconds after which the caller may try again. Null: the answer names no time. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
    this.name = "ApiFailure";
  }

  /** The same call may succeed later. */
  get isTransient(): boolean {
    return this.isAway || this.status === 429 || this.status === 503;
  }

  /** The service is not there: no answer came, or a proxy's in its place. */
  get isAway(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }
}

/** The status of what is no answer of the service. */
const faultOfPage = -1;

type Method = "GET" | "POST" | "PUT" | "DELETE";
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  /** Goes as it is, in place of a body in JSON; its type is the content's. */
  readonly file?: Blob;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The answer is no JSON. */
  readonly isText?: boolean;
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly meta: { readonly count: number; readonly limit: number; readonly page: number };
}

/** Called when an answer says that nobody is logged in any more. */
let onLoggedOut = (): void => undefined;

export function whenLoggedOut(action: () => void): void {
  onLoggedOut = action;
}

/** To be called when an answer to a call of another file is 401. */
export function sessionEnded(): void {
  onLoggedOut();
}

export function formatPath(path: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === "" ? [] : [[name, written(name, value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** Milliseconds, which the API would read as seconds where they are few, are written as text there. */
const written = (name: string, value: NonNullable<Query[string]>): string =>
  typeof value === "number" && /Time$/.test(name) && Math.abs(value) < 1e11
    ? new Date(value).toISOString()
    : String(value);

/** Headers of every call. The console reads Variant A of the records, whichever variant the deployment prefers. */
export const ownHeaders = () => ({ "X-Tidemark": personOrPoll(), "Api-Variant": "A" }) as const;

/** The parsed body of a good answer; undefined where it has none. @throws ApiFailure, or the abort */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const response = await fetchResponse(method, path, options);
  return (
    response.status === 204
      ? undefined
      : await (options.isText === true
          ? whole(response.text(), options.signal)
          : readJson(response, options.signal))
  ) as T;
}

/** A good answer, whatever its body is. @throws ApiFailure, or the abort */
export async function fetchResponse(
  method: Method,
  path: string,
  options: CallOptions = {},
): Promise<Response> {
  const { query, body, file, headers = {}, signal } = options;
  const type = file?.type ?? (body === undefined ? null : "application/json");
  const sent = file ?? (body === undefined ? undefined : JSON.stringify(body));
  let response: Response;
  try {
    response = await fetch(formatPath(api + path, query), {
      method,
      headers: {
        ...ownHeaders(),
        ...headers,
        ...(type === null ? {} : { "Content-Type": type }),
      },
      credentials: "same-origin",
      redirect: "error",
      ...(sent === undefined ? {} : { body: sent }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw noAnswer();
  }
  if (response.ok) return response;
  const failure = await readFailure(response);
  // The token of a share is no session.
  if (response.status === 401 && path !== "/login" && headers.Authorization === undefined) onLoggedOut();
  throw failure;
}

const noAnswer = (): ApiFailure => new ApiFailure(0, "NO_ANSWER", "the service does not answer");

/** The parsed body, undefined for an empty one. @throws ApiFailure if it breaks off in the middle, or the abort */
export const readJson = (response: Response, signal?: AbortSignal): Promise<unknown> =>
  whole(
    response.text().then((text): unknown => (text === "" ? undefined : JSON.parse(text))),
    signal,
  );

/** Half an answer is none. */
async function whole<T>(body: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await body;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw noAnswer();
  }
}

/** What went wrong, as a failure that can be said in words. A fault of the page itself is reported besides. */
export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  reportError(error);
  return new ApiFailure(faultOfPage, "FAULT", error instanceof Error ? error.message : String(error));
}

export async function readFailure(response: Response): Promise<ApiFailure> {
  const retry = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(retry) ? retry : null;
  try {
    const { errorCode, message, errors } = (await response.json()) as {
      errorCode: string;
      message: string;
      errors?: Record<string, string>;
    };
    return new ApiFailure(response.status, errorCode, message, errors ?? {}, retryAfter);
  } catch {
    return new ApiFailure(
      response.status,
      "UNREADABLE",
      `${response.status} ${response.statusText}`,
      {},
      retryAfter,
    );
  }
}

/** Formats the call as a curl command, for users who want to do the same without the console. */
export function asCurl(method: Method, path: string, query: Query = {}, body?: unknown): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const parts = [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    quoted(`${location.origin}${formatPath(api + path, query)}`),
    "-H",
    '"Authorization: Bearer $KEY"',
    ...(body === undefined
      ? []
      : ["-H", quoted("Content-Type: application/json"), "-d", quoted(JSON.stringify(body))]),
  ];
  return parts.join(" ");
}
