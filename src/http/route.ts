import type { z } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import type { Logger } from "../observability/log.js";
import { type AnswerHold, type AnswerRoom, bytesHeld, heldBody, type Making } from "./answer-room.js";
import type { Authenticator } from "./auth.js";
import { jsonBytesMax, publicBodyBytesMax, readJsonBody } from "./body.js";
import { type Access, type Caller, mayCall } from "./caller.js";
import { ApiError, type ErrorCode, failureOf, invalid, toApiError } from "./errors.js";
import { parseWith } from "./fields.js";
import { chunksOfTexts, isLong, jsonTexts, streamOf } from "./json-stream.js";

/** What a handler answers; the frame adds the headers that every answer carries. */
export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 304;
  /** Bytes, a text and a stream go as they are, any other object as JSON. */
  readonly body?: object | string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Type of a text or stream; JSON otherwise. */
  readonly type?: string;
  /** What a stream holds that is made of what is there already, bytes: less with each that is read. */
  readonly held?: number;
}

/** The two documented shapes of the interface: two views of the same records. */
export type Variant = "A" | "B";

interface RouteInput<Params, Query, Body> {
  readonly caller: Caller;
  readonly variant: Variant;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: Request;
  readonly address: string;
  /** For a handler that gathers a long answer: what it holds counts from then on. Without a caller null. */
  readonly hold: AnswerHold | null;
  /** Ends the connection, whatever waits on it to be read. */
  readonly hangUp: () => void;
}

export interface Shape {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
}

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export interface RouteSpec<S extends Shape> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly shape?: S;
  /** Status and body of success, for the reference; several types where the caller chooses one. */
  readonly answer: {
    readonly status: Answer["status"];
    readonly schema?: z.ZodType;
    readonly type?: string | readonly string[];
    /** Types of text that the caller may ask for in place of it. */
    readonly texts?: readonly string[];
  };
  readonly errors?: readonly ErrorCode[];
  /** What its answers wait for while they are made; the metadata and the journal where it does not say. */
  readonly making?: Making;
  /** What the body may be, for the reference, where the handler chooses its schema by itself. */
  readonly accepts?: z.ZodType;
  /** A body that the handler reads by itself, for the reference. */
  readonly upload?: { readonly type: string | readonly string[]; readonly schema: z.ZodType };
  handle(
    input: RouteInput<Output<S["params"]>, Output<S["query"]>, Output<S["body"]>>,
  ): Promise<Answer> | Answer;
}

/** What a path does in Variant B, where its request or its answer differs from Variant A's. */
type VariantB<S extends Shape> = Pick<RouteSpec<S>, "shape" | "answer" | "handle">;

export interface Route {
  readonly spec: RouteSpec<Shape>;
  readonly b: VariantB<Shape> | null;
}

/** Binds handlers to their schemas; the types of their input follow from them. */
export function route<const S extends Shape, const B extends Shape>(
  spec: RouteSpec<S>,
  b?: VariantB<B>,
): Route {
  return {
    spec: spec as unknown as RouteSpec<Shape>,
    b: (b as unknown as VariantB<Shape> | undefined) ?? null,
  };
}

interface FrameDeps {
  readonly authenticator: Authenticator;
  readonly log: Logger;
  readonly requestID: () => string;
  readonly addressOf: (context: Context) => string;
  readonly hangUp: (context: Context) => void;
  /** The caller has shown a right credential, before anything of his body is read. */
  readonly onCaller: (context: Context, caller: Caller) => void;
  /** The deployment's variant; a request may ask for the other. */
  readonly variant: Variant;
  /** For all answers that callers are given. */
  readonly room: AnswerRoom;
}

/** Registers the routes: authentication, validation, errors and headers in one place. */
export function mountRoutes(app: Hono, routes: readonly Route[], deps: FrameDeps): void {
  const methods = new Map<string, string[]>();
  for (const one of routes) {
    const { spec } = one;
    const path = honoPath(spec.path);
    methods.set(path, [...(methods.get(path) ?? []), spec.method.toUpperCase()]);
    app.on(spec.method.toUpperCase(), path, (context) =>
      frame(context, deps, (variant) => serve(context, deps, one, variant)),
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

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

async function serve(context: Context, deps: FrameDeps, one: Route, variant: Variant): Promise<Answer> {
  const address = deps.addressOf(context);
  const caller = await identify(context, deps, one.spec.access, address);
  const { shape, answer, handle } = variant === "B" && one.b !== null ? one.b : one.spec;
  checkAccept(context, [answer.type ?? "application/json", ...(answer.texts ?? [])].flat());
  const { params, query, body } = shape ?? {};
  const bytesMax = one.spec.access === "public" ? publicBodyBytesMax : jsonBytesMax;
  const request = context.req.raw;
  // Asked for, it costs: only what waits does.
  const signal = () => request.signal;
  const hold = caller === undefined ? null : deps.room.open(caller.tenant, signal);
  const input = {
    caller,
    variant,
    address,
    request,
    hold,
    hangUp: () => deps.hangUp(context),
    params: params && parseWith(params, context.req.param()),
    query: query && parseWith(query, singleValues(context, query)),
    body: body && parseWith(body, await readJsonBody(request, bytesMax)),
  };
  if (caller === undefined || hold === null) return handle(input as never);
  try {
    if (one.spec.method !== "get") return await counted(await handle(input as never), hold, hold.force);
    const made = hold.make(one.spec.making ?? "rows", () => handle(input as never));
    return await counted(await made, hold, hold.take);
  } catch (error) {
    hold.end();
    throw error;
  }
}

/** The answer, once there is room for what it holds; what has been written is told in any case. @throws ApiError TOO_MANY_REQUESTS */
async function counted(
  answer: Answer,
  hold: AnswerHold,
  take: (bytes: number) => Promise<void> | void,
): Promise<Answer> {
  const { held = 0 } = answer;
  let { body } = answer;
  if (isPlain(body)) {
    // To find out walks through all of it: once, and what is short is a text from here on.
    if (isLong(body)) {
      await take(bytesHeld(body));
      body = streamOf(chunksOfTexts(jsonTexts(body)));
    } else body = JSON.stringify(body);
  } else if (held > 0) await take(held);
  if (hold.bytes > 0 && body instanceof ReadableStream) {
    return { ...answer, body: heldBody(body, hold, held > 0) };
  }
  hold.end();
  return body === answer.body
    ? answer
    : { ...answer, type: answer.type ?? jsonType, body: body as object | string };
}

const isPlain = (body: Answer["body"]): body is object =>
  typeof body === "object" && !(body instanceof ReadableStream) && !(body instanceof Uint8Array);

/** The parameters of the query. @throws ApiError PARAMETER_INVALID for a known one that is given more than once */
function singleValues(context: Context, { shape }: z.ZodObject): Readonly<Record<string, string>> {
  const given = Object.entries(context.req.queries());
  const repeated = given.filter(([name, values]) => values.length > 1 && Object.hasOwn(shape, name));
  if (repeated.length === 0) return Object.fromEntries(given.map(([name, [first = ""]]) => [name, first]));
  throw invalid(Object.fromEntries(repeated.map(([name]) => [name, "is given more than once"])));
}

async function identify(
  context: Context,
  deps: FrameDeps,
  access: Access,
  address: string,
): Promise<Caller | undefined> {
  if (access === "public") return undefined;
  const caller = await deps.authenticator.caller(context.req.header("authorization"), address);
  deps.onCaller(context, caller);
  if (!mayCall(caller.role, access)) {
    throw new ApiError("PERMISSION_DENIED", `role ${caller.role} may not do this`);
  }
  return caller;
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
function variantOf(context: Context, deployed: Variant): Variant {
  const wanted = context.req.header("api-variant") ?? deployed;
  if (wanted === "A" || wanted === "B") return wanted;
  throw new ApiError("PARAMETER_INVALID", "there are variants A and B", { "Api-Variant": "must be A or B" });
}

/** Turns an answer or an error into a response with the headers of every response, and logs the request. */
async function frame(
  context: Context,
  deps: FrameDeps,
  action: (variant: Variant) => Promise<Answer> | Answer,
): Promise<Response> {
  const requestID = deps.requestID();
  const startedAt = performance.now();
  const isHead = context.req.method === "HEAD";
  let response: Response;
  let variant = deps.variant;
  try {
    variant = variantOf(context, deps.variant);
    response = respond(await action(variant), isHead);
  } catch (error) {
    const known = toApiError(error);
    if (known.errorCode === "INTERNAL_ERROR") deps.log.error("request failed", { requestID, error });
    response = respondError(known);
  }
  response.headers.set("X-Request-Id", requestID);
  response.headers.set("Api-Variant", variant);
  deps.log.debug("request", {
    requestID,
    method: context.req.method,
    path: context.req.path,
    status: response.status,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
  });
  return response;
}

export const jsonType = "application/json; charset=utf-8";

function respond(answer: Answer, isHead: boolean): Response {
  const { status, headers = {} } = answer;
  let { body } = answer;
  if (isHead && body !== undefined) {
    // Nobody reads it: it is not written, and what it has opened closes now.
    if (body instanceof ReadableStream) void body.cancel().catch(() => undefined);
    body = "";
  }
  if (body === undefined) return new Response(null, { status, headers });
  const whole = isPlain(body) ? jsonOf(body) : (body as ConstructorParameters<typeof Response>[0]);
  return new Response(whole, { status, headers: { "Content-Type": answer.type ?? jsonType, ...headers } });
}

/** Long answers are made as their reader takes them. */
function jsonOf(body: object): string | ReadableStream<Uint8Array> {
  return isLong(body) ? streamOf(chunksOfTexts(jsonTexts(body))) : JSON.stringify(body);
}

function respondError(error: ApiError): Response {
  const { status, headers, body } = failureOf(error);
  return new Response(body, { status, headers });
}
