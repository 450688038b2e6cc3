import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Logger } from "../log.js";
import { type Access, type Authenticator, type Caller, mayCall } from "./auth.js";
import { readJsonBody } from "./body.js";
import { ApiError, type ErrorCode, errorStatus, toApiError } from "./errors.js";
import { parseWith } from "./fields.js";

/** What a handler answers; the frame adds the headers that every answer carries. */
export interface Answer {
  readonly status: 200 | 201 | 202 | 204;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Type of a text body; JSON otherwise. */
  readonly type?: string;
}

export interface RouteInput<Params, Query, Body> {
  readonly caller: Caller;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: Request;
  readonly address: string;
}

interface Shape {
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
  /** Status and body of success, for the reference. */
  readonly answer: { readonly status: Answer["status"]; readonly schema?: z.ZodType; readonly type?: string };
  readonly errors?: readonly ErrorCode[];
  handle(
    input: RouteInput<Output<S["params"]>, Output<S["query"]>, Output<S["body"]>>,
  ): Promise<Answer> | Answer;
}

export interface Route {
  readonly spec: RouteSpec<Shape>;
}

/** Binds a handler to its schemas; the types of its input follow from them. */
export function route<const S extends Shape>(spec: RouteSpec<S>): Route {
  return { spec: spec as unknown as RouteSpec<Shape> };
}

export interface FrameDeps {
  readonly authenticator: Authenticator;
  readonly log: Logger;
  readonly requestID: () => string;
  readonly addressOf: (context: Context) => string;
}

export const variant = "A";

/** Registers the routes: authentication, validation, errors, headers and the API reference in one place. */
export function mountRoutes(app: OpenAPIHono, routes: readonly Route[], deps: FrameDeps): void {
  const methods = new Map<string, string[]>();
  for (const { spec } of routes) {
    document(app, spec);
    const path = honoPath(spec.path);
    methods.set(path, [...(methods.get(path) ?? []), spec.method.toUpperCase()]);
    app.on(spec.method.toUpperCase(), path, (context) =>
      frame(context, deps, () => serve(context, deps, spec)),
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

async function serve(context: Context, deps: FrameDeps, spec: RouteSpec<Shape>): Promise<Answer> {
  const address = deps.addressOf(context);
  const caller = await identify(context, deps, spec.access, address);
  checkAccept(context, spec.answer.type ?? "application/json");
  checkVariant(context);
  const { params, query, body } = spec.shape ?? {};
  return spec.handle({
    caller,
    address,
    request: context.req.raw,
    params: params && parseWith(params, context.req.param()),
    query: query && parseWith(query, context.req.query()),
    body: body && parseWith(body, await readJsonBody(context.req.raw)),
  } as never);
}

async function identify(
  context: Context,
  deps: FrameDeps,
  access: Access,
  address: string,
): Promise<Caller | undefined> {
  if (access === "public") return undefined;
  const caller = await deps.authenticator.caller(context.req.header("authorization"), address);
  if (!mayCall(caller.role, access)) {
    throw new ApiError("PERMISSION_DENIED", `role ${caller.role} may not do this`);
  }
  return caller;
}

function checkAccept(context: Context, type: string): void {
  const accept = context.req.header("accept");
  if (accept === undefined || accept.trim() === "") return;
  const [major = ""] = type.split("/");
  const wanted = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase());
  if (!wanted.some((one) => one === "*/*" || one === `${major}/*` || one === type.split(";")[0])) {
    throw new ApiError("NOT_ACCEPTABLE", `the answer is ${type}`);
  }
}

function checkVariant(context: Context): void {
  const wanted = context.req.header("api-variant");
  if (wanted !== undefined && wanted !== variant) {
    throw new ApiError("PARAMETER_INVALID", "this version serves variant A only", {
      "Api-Variant": "must be A",
    });
  }
}

/** Turns an answer or an error into a response with the headers of every response, and logs the request. */
async function frame(
  context: Context,
  deps: FrameDeps,
  action: () => Promise<Answer> | Answer,
): Promise<Response> {
  const requestID = deps.requestID();
  const startedAt = performance.now();
  let response: Response;
  try {
    response = respond(await action());
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

const json = "application/json; charset=utf-8";

function respond(answer: Answer): Response {
  const { body, status, headers = {} } = answer;
  if (body === undefined) return new Response(null, { status, headers });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "Content-Type": answer.type ?? json, ...headers } });
}

function respondError(error: ApiError): Response {
  const { errorCode, message, errors, headers } = error;
  return new Response(JSON.stringify({ errorCode, message, errors }), {
    status: errorStatus[errorCode],
    headers: { "Content-Type": json, ...headers },
  });
}

const errorBody = z
  .object({
    errorCode: z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    errors: z.record(z.string(), z.string()),
  })
  .openapi("Error");

/** What any route may answer beside its own errors. */
const commonErrors: readonly ErrorCode[] = ["PARAMETER_INVALID", "NOT_ACCEPTABLE", "INTERNAL_ERROR"];
const callerErrors: readonly ErrorCode[] = [
  "AUTH_FAILED",
  "PERMISSION_DENIED",
  "TOO_MANY_REQUESTS",
  "SERVICE_UNAVAILABLE",
];
const bodyErrors: readonly ErrorCode[] = ["BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

function document(app: OpenAPIHono, spec: RouteSpec<Shape>): void {
  const { status, schema, type = "application/json" } = spec.answer;
  const codes = [
    ...commonErrors,
    ...(spec.access === "public" ? [] : callerErrors),
    ...(spec.shape?.body === undefined ? [] : bodyErrors),
    ...(spec.shape?.params === undefined ? [] : ["DATA_NOT_FOUND" as const]),
    ...(spec.errors ?? []),
  ];
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const one of codes) {
    byStatus.set(errorStatus[one], (byStatus.get(errorStatus[one]) ?? new Set<ErrorCode>()).add(one));
  }
  const failures = [...byStatus].map(([failure, some]) => [
    failure,
    { description: [...some].join(", "), content: { "application/json": { schema: errorBody } } },
  ]);
  app.openAPIRegistry.registerPath({
    method: spec.method,
    path: spec.path,
    tags: [spec.tag],
    summary: spec.summary,
    security: spec.access === "public" ? [] : [{ bearer: [] }, { basic: [] }],
    request: {
      ...(spec.shape?.params === undefined ? {} : { params: spec.shape.params }),
      ...(spec.shape?.query === undefined ? {} : { query: spec.shape.query }),
      ...(spec.shape?.body === undefined
        ? {}
        : { body: { required: true, content: { "application/json": { schema: spec.shape.body } } } }),
    },
    responses: {
      [status]: {
        description: "success",
        ...(schema === undefined ? {} : { content: { [type]: { schema } } }),
      },
      ...Object.fromEntries(failures),
    },
  });
}
