import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { type ErrorCode, errorStatus } from "./errors.js";
import type { Route, RouteSpec, Shape } from "./route.js";

/** The API reference, made from the routes: each adds its path, both variants together. */

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
  "LOGIN_REQUIRED",
  "PERMISSION_DENIED",
  "TOO_MANY_REQUESTS",
  "SERVICE_UNAVAILABLE",
];
const bodyErrors: readonly ErrorCode[] = ["BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

export function document(app: OpenAPIHono, { spec, b }: Route): void {
  const { answer } = spec;
  const type = answer.type ?? "application/json";
  const schema = either(answer.schema, b?.answer.schema);
  app.openAPIRegistry.registerPath({
    method: spec.method,
    path: spec.path,
    tags: [spec.tag],
    summary: spec.summary,
    security: spec.access === "public" ? [] : [{ bearer: [] }, { basic: [] }],
    request: requestOf(spec, b?.shape),
    responses: {
      [answer.status]: {
        description: "success",
        ...(schema === undefined ? {} : { content: { [type]: { schema } } }),
      },
      ...failuresOf(spec),
    },
  });
}

/** The one that is there, or a choice between Variant A's and Variant B's. */
function either(a: z.ZodType | undefined, b: z.ZodType | undefined): z.ZodType | undefined {
  return a === undefined || b === undefined || a === b ? (a ?? b) : z.union([a, b]);
}

function requestOf(spec: RouteSpec<Shape>, shapeB: Shape | undefined) {
  const { params, query, body } = spec.shape ?? {};
  const bodies = either(spec.accepts ?? body, shapeB?.body);
  const type = spec.upload?.type ?? "application/json";
  const schema = spec.upload?.schema ?? bodies;
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    ...(schema === undefined ? {} : { body: { required: true, content: { [type]: { schema } } } }),
  };
}

function failuresOf(spec: RouteSpec<Shape>) {
  const codes = [
    ...commonErrors,
    ...(spec.access === "public" ? [] : callerErrors),
    ...(spec.shape?.body === undefined && spec.upload === undefined ? [] : bodyErrors),
    ...(spec.shape?.params === undefined ? [] : ["DATA_NOT_FOUND" as const]),
    ...(spec.errors ?? []),
  ];
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const one of codes) {
    byStatus.set(errorStatus[one], (byStatus.get(errorStatus[one]) ?? new Set<ErrorCode>()).add(one));
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => [
      status,
      { description: [...some].join(", "), content: { "application/json": { schema: errorBody } } },
    ]),
  );
}
