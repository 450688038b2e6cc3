/** The frame around every handler: authentication, validation, response budget, errors, headers and the log. */
import type { z } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import type { Share } from "../../store/metadata/dashboards/shares.js";
import type { Logger } from "../observability/log.js";
import type { Authenticator, Use } from "./auth.js";
import { jsonBytesMax, publicBodyBytesMax, type RequestBody, readJsonBody } from "./body.js";
import { type Access, type ApiCaller, mayCall } from "./caller.js";
import { ApiError, invalid, toApiError, toFailure } from "./errors.js";
import { parseWith } from "./fields.js";
import { chunksOfTexts, createByteStream, isLong, jsonTexts } from "./json-stream.js";
import { OwnerLost, RemoteShard } from "./remote-shard.js";
import type { RequestBudget } from "./request-budget.js";
import { bytesHeld, heldBody, type Reservation, type ResponseBudget } from "./response-budget.js";
import { jsonType, type Route, type RouteAnswer, type Variant } from "./route.js";
import { isPersonal, requireSameOrigin, type SessionCookies } from "./session-cookie.js";
import type { ShareAccess } from "./share-access.js";
import { type Writing, writingHeaders } from "./writing.js";

interface FrameDeps {
  readonly authenticator: Authenticator;
  readonly cookies: SessionCookies;
  readonly shares: ShareAccess;
  /** Whether the client's own connection is one of TLS. */
  readonly isSecure: (context: Context) => boolean;
  readonly log: Logger;
  readonly requestID: () => string;
  readonly addressOf: (context: Context) => string;
  readonly hangUp: (context: Context) => void;
  /** Lets another node of the cluster answer. `json`: the request's body, if it has one. */
  readonly askNode: (context: Context, node: number | null, json: unknown) => Promise<RouteAnswer>;
  /** Resolves once a node of the cluster has the shard of that number, or after a while. */
  readonly untilPlaced: (shard: number) => Promise<void>;
  /** Called once the caller has shown a right credential, before any of the body is read. */
  readonly onCaller: (context: Context, caller: Pick<ApiCaller, "tenant">) => void;
  /** The deployment's variant; a request may ask for the other. */
  readonly variant: Variant;
  readonly writingOf: (headers: Headers) => Writing;
  /** The budget of all answers to callers. */
  readonly room: ResponseBudget;
  /** Calls `then` once the answer has been sent, or nobody waits for it any more. */
  readonly onSent: (context: Context, then: () => void) => void;
  /** Where the bodies of all requests are counted. */
  readonly requests: RequestBudget;
  /** The body of a request that is not read yet. */
  readonly sourceOf: (context: Context) => RequestBody["source"];
}

/** Registers the routes: authentication, validation, errors and headers in one place. */
export function mountRoutes(app: Hono, routes: readonly Route[], deps: FrameDeps): void {
  const methods = new Map<string, string[]>();
  for (const one of routes) {
    const { spec } = one;
    const path = honoPath(spec);
    methods.set(path, [...(methods.get(path) ?? []), spec.method.toUpperCase()]);
    app.on(spec.method.toUpperCase(), path, (context) =>
      frame(context, deps, async (variant) =>
        varied(one, await serve({ context, deps, one, variant, address: deps.addressOf(context) })),
      ),
    );
  }
  for (const [path, allowed] of methods) {
    app.all(path, (context) =>
      frame(context, deps, () => {
        const Allow = allowed.join(", ");
        throw new ApiError("METHOD_NOT_ALLOWED", `the path takes ${Allow}`, {}, { Allow });
      }),
    );
  }
  app.notFound((context) =>
    frame(context, deps, () => {
      throw new ApiError("DATA_NOT_FOUND", "there is no such path", { url: "no such path" });
    }),
  );
}

/**
 * What else an answer depends on, for caches, and that it is one caller's alone: a cookie does not say so, as a header
 * `Authorization` does.
 */
function varied({ spec }: Route, answer: RouteAnswer): RouteAnswer {
  if (!spec.path.startsWith("/api/")) return answer;
  const dependsOn = [answer.headers?.Vary, "Api-Variant", ...writingHeaders];
  const Vary = dependsOn.filter((one) => one !== undefined).join(", ");
  return { ...answer, headers: { "Cache-Control": "private, no-cache", ...answer.headers, Vary } };
}

function honoPath({ path, restOfPath }: Route["spec"]): string {
  const found = path.replaceAll(/\{(\w+)\}/g, ":$1");
  return restOfPath === true ? `${found}{.+}` : found;
}

/** A request, the route that answers it, and the client's address. */
interface Call {
  readonly context: Context;
  readonly deps: FrameDeps;
  readonly one: Route;
  readonly variant: Variant;
  readonly address: string;
}

async function serve(call: Call): Promise<RouteAnswer> {
  const { context, deps, one, address } = call;
  if (one.spec.access !== "share") {
    const again = identifyCaller(context, deps, one.spec.access, address);
    const authenticate = () => again(isPersonal(context.req.raw) ? "personal" : "automatic");
    const caller = await identify(context, deps, one.spec.access, authenticate);
    return serveTo({ caller, again, share: null }, call);
  }
  const { share, leave } = await deps.shares.enter(context.req.header("authorization"), address);
  try {
    deps.onCaller(context, share);
    const again = () => deps.authenticator.caller(undefined, address);
    return await serveTo({ caller: undefined, again, share }, call);
  } finally {
    leave();
  }
}

/** The sender of a request: a caller, a share, or anybody. */
interface RequestCaller {
  readonly caller: ApiCaller | undefined;
  readonly again: () => Promise<ApiCaller>;
  readonly share: Share | null;
}

/** Serves it; what its body takes is reserved until then. */
async function serveTo(asker: RequestCaller, call: Call): Promise<RouteAnswer> {
  const { context, deps, address } = call;
  const { tenant } = asker.caller ?? asker.share ?? { tenant: undefined };
  const reservation = deps.requests.open(tenant === undefined ? { address } : { tenant });
  const upload = {
    headers: context.req.raw.headers,
    source: deps.sourceOf(context),
    reservation,
    tenant,
  };
  try {
    return await answerTo(asker, call, upload);
  } finally {
    reservation.release();
  }
}

/** @param isAgain the node that was to answer has gone */
async function answerTo(
  asker: RequestCaller,
  call: Call,
  upload: RequestBody,
  isAgain = false,
): Promise<RouteAnswer> {
  const { caller, again, share } = asker;
  const { context, deps, one, variant, address } = call;
  const { shape, answer, handle } = variant === "B" && one.b !== null ? one.b : one.spec;
  checkAccept(context, [answer.type ?? "application/json", ...(answer.texts ?? [])].flat());
  const { params, query, body } = shape ?? {};
  const bytesMax = one.spec.access === "public" ? publicBodyBytesMax : jsonBytesMax;
  const request = context.req.raw;
  // The signal is lazy, because making one is costly and only answers that wait need it.
  const signal = () => request.signal;
  const { tenant } = upload;
  const hold = tenant === undefined ? null : deps.room.open(tenant, signal);
  const asked = {
    params: params && parseWith(params, context.req.param()),
    query: query && parseWith(query, singleValues(context, query)),
  };
  const json = body && (await readJsonBody(upload, bytesMax));
  const input = {
    caller,
    share,
    variant,
    writing: deps.writingOf(request.headers),
    address,
    callerAgain: again,
    isSecure: () => deps.isSecure(context),
    request,
    upload,
    hold,
    hangUp: () => deps.hangUp(context),
    ...asked,
    body: body && parseWith(body, json),
  };
  if (hold === null) return handle(input as never);
  const { method, making } = one.spec;
  const isWrite = method !== "get" && making === undefined;
  const made = (): Promise<RouteAnswer> =>
    isWrite
      ? Promise.resolve(handle(input as never))
      : hold.make(making ?? "rows", () => handle(input as never));
  try {
    const answered = await oncePlaced(made, deps);
    const onSent = (then: () => void) => deps.onSent(context, then);
    return await counted(answered, hold, isWrite ? hold.force : hold.take, onSent);
  } catch (error) {
    hold.end();
    if (!(error instanceof RemoteShard)) throw error;
    return deps.askNode(context, error.node, json).catch((failure: unknown) => {
      // A read may be repeated (RFC 9110 §9.2.2), at the shard's present owner.
      if (!(failure instanceof OwnerLost) || method !== "get" || isAgain) throw failure;
      return answerTo(asker, call, upload, true);
    });
  }
}

/** Once more, after a while, if it has needed a shard that no node had: handlers ask for it before they do anything. */
async function oncePlaced<T>(
  action: () => Promise<T>,
  { untilPlaced }: Pick<FrameDeps, "untilPlaced">,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RemoteShard) || error.node !== null || error.shard === null) throw error;
    await untilPlaced(error.shard);
    return action();
  }
}

/**
 * The answer, once its bytes are reserved; writes already made are reported in any case. @throws ApiError
 * TOO_MANY_REQUESTS
 */
async function counted(
  answer: RouteAnswer,
  hold: Reservation,
  take: (bytes: number) => Promise<void> | void,
  onSent: (then: () => void) => void,
): Promise<RouteAnswer> {
  const { held = 0 } = answer;
  let { body } = answer;
  if (isPlain(body)) {
    // The check walks through all of it, so it is done once: from here on, a short answer is a text.
    if (isLong(body)) {
      await take(bytesHeld(body));
      body = createByteStream(chunksOfTexts(jsonTexts(body)));
    } else body = JSON.stringify(body);
  } else if (held > 0) await take(held);
  if (hold.bytes > 0 && body instanceof ReadableStream) {
    return { ...answer, body: heldBody(body, hold, held > 0) };
  }
  if (typeof body === "string" || body instanceof Uint8Array) {
    await take(typeof body === "string" ? bytesHeld(body) : body.byteLength);
    onSent(hold.end);
  } else hold.end();
  return body === answer.body
    ? answer
    : { ...answer, type: answer.type ?? jsonType, body: body as object | string };
}

const isPlain = (body: RouteAnswer["body"]): body is object =>
  typeof body === "object" && !(body instanceof ReadableStream) && !(body instanceof Uint8Array);

/** The parameters of the query. @throws ApiError PARAMETER_INVALID for a known one that is given more than once */
function singleValues(context: Context, { shape }: z.ZodObject): Readonly<Record<string, string>> {
  const given = Object.entries(context.req.queries());
  const repeated = given.filter(([name, values]) => values.length > 1 && Object.hasOwn(shape, name));
  if (repeated.length === 0) return Object.fromEntries(given.map(([name, [first = ""]]) => [name, first]));
  throw invalid(Object.fromEntries(repeated.map(([name]) => [name, "is given more than once"])));
}

/** Asks who shows the request's credential: now, and later whether it still holds. */
function identifyCaller(
  context: Context,
  deps: FrameDeps,
  access: Access,
  address: string,
): (use?: Use) => Promise<ApiCaller> {
  const shown = access === "public" ? undefined : readAuthorization(context, deps);
  return (use) => deps.authenticator.caller(shown, address, use);
}

async function identify(
  context: Context,
  deps: FrameDeps,
  access: Access,
  authenticate: () => Promise<ApiCaller>,
): Promise<ApiCaller | undefined> {
  if (access === "public") return undefined;
  const caller = await authenticate();
  deps.onCaller(context, caller);
  if (!mayCall(caller.role, access)) {
    throw new ApiError("PERMISSION_DENIED", `role ${caller.role} may not do this`);
  }
  return caller;
}

/** What the caller shows. A cookie alone, which browsers send also for other sites, allows them no change. */
function readAuthorization(context: Context, { cookies, isSecure }: FrameDeps): string | undefined {
  const { req } = context;
  const shown = req.header("authorization");
  if (shown !== undefined) return shown;
  const token = cookies.tokenOf(req.header("cookie"), isSecure(context));
  if (token === null) return undefined;
  if (req.method !== "GET" && req.method !== "HEAD") requireSameOrigin(req.raw);
  return `Bearer ${token}`;
}

function checkAccept(context: Context, types: readonly string[]): void {
  const accept = context.req.header("accept");
  if (accept === undefined || accept.trim() === "") return;
  const wanted = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase());
  const serves = (type: string) =>
    wanted.some((one) => one === "*/*" || one === `${type.split("/")[0]}/*` || one === type.split(";")[0]);
  if (!types.some(serves)) throw new ApiError("NOT_ACCEPTABLE", `the answer is ${types.join(" or ")}`);
}

/** @throws ApiError PARAMETER_INVALID */
function readVariant(context: Context, deployed: Variant): Variant {
  const wanted = context.req.header("api-variant") ?? deployed;
  if (wanted === "A" || wanted === "B") return wanted;
  throw new ApiError("PARAMETER_INVALID", "there are variants A and B", { "Api-Variant": "must be A or B" });
}

/** Turns an answer or an error into a response with the headers of every response, and logs the request. */
async function frame(
  context: Context,
  deps: FrameDeps,
  action: (variant: Variant) => Promise<RouteAnswer> | RouteAnswer,
): Promise<Response> {
  const requestID = deps.requestID();
  const startedAt = performance.now();
  const isHead = context.req.method === "HEAD";
  let response: Response;
  let variant = deps.variant;
  // Headers that are set later make the response anew.
  const always = () => ({ "X-Request-Id": requestID, "Api-Variant": variant });
  try {
    variant = readVariant(context, deps.variant);
    const answer = await action(variant);
    response = respond(answer, { ...answer.headers, ...always() }, isHead);
  } catch (error) {
    const known = toApiError(error);
    if (known.errorCode === "INTERNAL_ERROR") deps.log.error("request failed", { requestID, error });
    const { status, headers, body } = toFailure(known);
    response = new Response(body, { status, headers: { ...headers, ...always() } });
  }
  deps.log.debug("request", {
    requestID,
    method: context.req.method,
    path: context.req.path,
    status: response.status,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
  });
  return response;
}

function respond(answer: RouteAnswer, headers: Readonly<Record<string, string>>, isHead: boolean): Response {
  const { status, type = jsonType } = answer;
  let { body } = answer;
  if (isHead && body !== undefined) {
    // The client has left: the answer is not written, and anything that it has opened is closed now.
    if (body instanceof ReadableStream) void body.cancel().catch(() => undefined);
    body = "";
  }
  if (body === undefined) return new Response(null, { status, headers });
  const whole = isPlain(body) ? formatJSON(body) : (body as ConstructorParameters<typeof Response>[0]);
  return new Response(whole, { status, headers: { "Content-Type": type, ...headers } });
}

/** Makes long answers as their reader takes them. */
function formatJSON(body: object): string | ReadableStream<Uint8Array> {
  return isLong(body) ? createByteStream(chunksOfTexts(jsonTexts(body))) : JSON.stringify(body);
}
