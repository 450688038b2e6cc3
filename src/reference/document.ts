import { OpenAPIHono, z } from "@hono/zod-openapi";
import { version } from "../host/version.js";
import type { Access } from "../http/caller.js";
import { type ErrorCode, errorStatus } from "../http/errors.js";
import { pageLimitDefault, pageLimitMax } from "../http/list-query.js";
import type { Route, RouteShape, RouteSpec } from "../http/route.js";
import {
  closeAnswers,
  type Document,
  type DocumentedResponse,
  type JSONSchema,
  listOperations,
  type Parameter,
} from "./close-schemas.js";
import { addDeviceOperations, deviceTag } from "./device-operations.js";
import { addExamples, errorExamples } from "./examples.js";
import { partsPath } from "./files.js";
import { addHeaders, describeHeaders, headers } from "./headers.js";
import { operationIDs } from "./operation-ids.js";
import { errorText, introduction, tagTexts } from "./texts.js";

/** The API reference: one document made from the routes, both variants together. */

const errorBody = z
  .object({
    errorCode: z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    errors: z
      .record(z.string(), z.string())
      .openapi({ description: "what is wrong, by field; may be empty" }),
  })
  .openapi("Error");

/** Errors that any route may answer with, besides its own. */
const commonErrors: readonly ErrorCode[] = ["PARAMETER_INVALID", "NOT_ACCEPTABLE", "INTERNAL_ERROR"];
const callerErrors: readonly ErrorCode[] = [
  "AUTH_FAILED",
  "LOGIN_REQUIRED",
  "PERMISSION_DENIED",
  "TOO_MANY_REQUESTS",
  "SERVICE_UNAVAILABLE",
];
const bodyErrors: readonly ErrorCode[] = ["BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

/** With `identifier`, which came with OpenAPI 3.1 and which the types lack. */
const license = { name: "Apache License 2.0", identifier: "Apache-2.0" };

/** OpenAPI 3.1, ready to be written as JSON. */
export function openApiDocument(all: readonly Route[]): Document {
  const routes = all.filter(({ spec }) => !spec.path.startsWith(partsPath));
  const registry = new OpenAPIHono();
  const ids = operationIDs(routes.map(({ spec }) => spec));
  registry.openAPIRegistry.register("Error", errorBody);
  for (const one of routes) register(registry, one, ids.get(one.spec) ?? "");
  registry.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "An API key as `appID:appSecret`, or the token of `POST /api/v1/login`.",
  });
  registry.openAPIRegistry.registerComponent("securitySchemes", "basic", {
    type: "http",
    scheme: "basic",
    description: "An API key: appID as user name, appSecret as password.",
  });
  registry.openAPIRegistry.registerComponent("securitySchemes", "share", {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "`Share` and the token of a shared dashboard.",
  });
  registry.openAPIRegistry.registerComponent("securitySchemes", "device", {
    type: "http",
    scheme: "basic",
    description: "A device: its deviceUsername and its token.",
  });
  const made = registry.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Tidemark",
      version,
      description: introduction,
      license,
    },
    servers: [{ url: "/", description: "this service" }],
    tags: [...new Set([...routes.map(({ spec }) => spec.tag), deviceTag])].map((name) => ({
      name,
      description: tagTexts[name] ?? name,
    })),
  });
  const document = JSON.parse(JSON.stringify(made)) as Document;
  document.components = { ...document.components, headers, examples: errorExamples };
  for (const finish of [closeAnswers, describeParameters, addHeaders, addExamples, shareFailures])
    finish(document);
  addDeviceOperations(document);
  return document;
}

function register(app: OpenAPIHono, { spec, b }: Route, operationId: string): void {
  const { answer } = spec;
  const types = [answer.type ?? "application/json"].flat().map((type) => type.split(";")[0] ?? type);
  const schema = either(answer.schema, b?.answer.schema);
  const texts = (answer.texts ?? []).map((type) => [type, { schema: z.string() }]);
  app.openAPIRegistry.registerPath({
    method: spec.method,
    path: spec.path,
    operationId,
    tags: [spec.tag],
    summary: spec.summary,
    security: describeSecurity(spec.access),
    request: describeRequest(spec, b?.shape),
    responses: {
      [answer.status]: {
        description: schema === undefined ? "Done; the body is empty." : "Success.",
        ...(schema === undefined
          ? {}
          : { content: Object.fromEntries([...types.map((type) => [type, { schema }]), ...texts]) }),
      },
      ...describeFailures(spec),
    },
  });
}

function describeSecurity(access: Access): Record<string, string[]>[] {
  if (access === "public") return [];
  return access === "share" ? [{ share: [] }] : [{ bearer: [] }, { basic: [] }];
}

/** The only schema present, or a choice between Variant A's and Variant B's. */
function either(a: z.ZodType | undefined, b: z.ZodType | undefined): z.ZodType | undefined {
  return a === undefined || b === undefined || a === b ? (a ?? b) : z.union([a, b]);
}

function describeRequest(spec: RouteSpec<RouteShape>, shapeB: RouteShape | undefined) {
  const { params, body } = spec.shape ?? {};
  // A parameter of either variant is accepted in both.
  const queries = [spec.shape?.query, shapeB?.query].filter((one) => one !== undefined);
  const query = queries.length === 2 ? z.object({ ...queries[1]?.shape, ...queries[0]?.shape }) : queries[0];
  const schema = spec.upload?.schema ?? either(spec.accepts ?? body, shapeB?.body);
  const types = [spec.upload?.type ?? "application/json"].flat();
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    ...(schema === undefined
      ? {}
      : { body: { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) } }),
  };
}

function authenticationErrors(access: Access): readonly ErrorCode[] {
  if (access === "public") return [];
  return access === "share" ? ["AUTH_FAILED", "TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"] : callerErrors;
}

function describeFailures(spec: RouteSpec<RouteShape>): Record<string, { description: string }> {
  const codes = new Set<ErrorCode>([
    ...commonErrors,
    ...authenticationErrors(spec.access),
    ...(spec.shape?.body === undefined && spec.upload === undefined ? [] : bodyErrors),
    ...(spec.shape?.params === undefined ? [] : ["DATA_NOT_FOUND" as const]),
    ...(spec.errors ?? []),
  ]);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    byStatus.set(errorStatus[code], [...(byStatus.get(errorStatus[code]) ?? []), code]);
  }
  return Object.fromEntries([...byStatus].map(([status, some]) => [status, { description: some.join(".") }]));
}

/** Makes error answers shared: each set of codes that a route may give with one status appears once. */
function shareFailures(document: Document): void {
  const responses: Record<string, DocumentedResponse> = {
    "405.METHOD_NOT_ALLOWED": failure("405", "METHOD_NOT_ALLOWED"),
  };
  for (const operation of listOperations(document)) {
    for (const [status, { description: codes }] of Object.entries(operation.responses)) {
      if (status < "400") continue;
      const name = `${status}.${codes}`;
      responses[name] ??= failure(status, codes);
      operation.responses[status] = { $ref: `#/components/responses/${name}` } as DocumentedResponse;
    }
  }
  document.components.responses = responses;
}

function failure(status: string, codes: string): DocumentedResponse {
  const some = codes.split(".") as ErrorCode[];
  const examples = Object.fromEntries(some.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return {
    description: some.map((code) => `\`${code}\`: ${errorText[code]}.`).join(" "),
    headers: describeHeaders(status),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" }, examples } },
  };
}

/** Parameters that every list has. */
const known: Readonly<Record<string, JSONSchema>> = {
  _page: { type: "integer", minimum: 1, default: 1 },
  _limit: { type: "integer", minimum: 1, maximum: pageLimitMax, default: pageLimitDefault },
};

const types: Readonly<Record<string, string>> = { integer: "integer", real: "number" };

/** Describes the form of query parameters, which are read as text. */
function describeParameters(document: Document): void {
  for (const { parameters = [] } of listOperations(document)) {
    for (const one of parameters) if (one.in === "query") describe(one);
  }
}

function describe(parameter: Parameter): void {
  const { name, schema } = parameter;
  const [, type] = /^equal to \((\w+)\)$/.exec(schema.description ?? parameter.description ?? "") ?? [];
  const exact = known[name] ?? (type !== undefined && types[type] ? { type: types[type] } : undefined);
  if (exact !== undefined) Object.assign(schema, exact);
  // The description belongs to the parameter itself.
  parameter.description ??= schema.description ?? (name.endsWith("_like") ? "contains" : "see the summary");
  if (type !== undefined) parameter.description = "equal to";
  delete schema.description;
  if (schema.example !== undefined) delete schema.example;
  if (exact !== undefined && known[name] !== undefined) delete parameter.example;
}
