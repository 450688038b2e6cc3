/**
 * What devices themselves ask over HTTP. Their transport answers it (`ingest/transports/http`), so no route describes
 * it; docs/http.md says the rest.
 */
import type { ErrorCode } from "../http/errors.js";
import { errorStatus } from "../http/errors.js";
import type {
  Document,
  DocumentedOperation,
  DocumentedResponse,
  JSONSchema,
  Media,
  Parameter,
} from "./close-schemas.js";
import { errorExamples } from "./examples.js";
import { errorText } from "./texts.js";

export const deviceTag = "Sent by devices";

const always: readonly ErrorCode[] = [
  "PARAMETER_INVALID",
  "AUTH_FAILED",
  "PERMISSION_DENIED",
  "METHOD_NOT_ALLOWED",
  "TOO_MANY_REQUESTS",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE",
];
const ofBody: readonly ErrorCode[] = ["BAD_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

const text = (example: string): Media => ({ schema: { type: "string" }, example });

const wait: Parameter = {
  name: "wait",
  in: "query",
  required: false,
  description: "seconds to wait for a message that goes down, 0 to 55",
  schema: { type: "integer", minimum: 0, maximum: 55 },
};

const named = (name: string, description: string): Parameter => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string" },
});

const inPath = (name: string, description: string): Parameter => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});

const message: DocumentedResponse = {
  description: "The oldest message that waits, with `Topic` and `Message-Id`.",
  content: { "application/octet-stream": text('{"relay":1}') },
};
const nothing: DocumentedResponse = { description: "Done; the body is empty." };

interface DeviceOperation extends Pick<DocumentedOperation, "operationId" | "summary"> {
  readonly method: "get" | "post" | "delete";
  readonly path: string;
  readonly parameters?: Parameter[];
  readonly body?: Record<string, Media>;
  readonly answers: Record<string, DocumentedResponse>;
  readonly errors?: readonly ErrorCode[];
  /** The schema of its errors, where it differs from the common one. */
  readonly schema?: JSONSchema;
}

const operations: readonly DeviceOperation[] = [
  {
    method: "post",
    path: "/api/v1/uplinks/{topic}",
    operationId: "postUplinksByTopic",
    summary: "One message: 204 says that it is on disk. The topic may have slashes",
    parameters: [
      inPath("topic", "the topic, percent-encoded where it needs to be"),
      wait,
      named("Message-Id", "1 to 128 characters; a repetition among the device's last 1,000 is taken once"),
    ],
    body: { "application/json": { schema: { type: "object" }, example: { temp: 21.5 } } },
    answers: { "204": nothing, "200": message },
    errors: [...ofBody, "FORMAT_INVALID"],
  },
  {
    method: "post",
    path: "/api/v1/uplinks",
    operationId: "postUplinks",
    summary: "A batch, a message a line, up to 16 MiB and 20,000 lines: 200 says that all of it is on disk",
    parameters: [
      named("Batch-Id", "1 to 128 characters; sent again among the device's last 1,000 it is taken once"),
    ],
    body: { "application/x-ndjson": text('{"topic":"data","payload":{"temp":21.5},"time":1767225600}\n') },
    answers: {
      "200": {
        description: "A status a line.",
        content: { "application/x-ndjson": text('{"line":1,"status":204}\n') },
      },
    },
    errors: [...ofBody, "FORMAT_INVALID"],
  },
  {
    method: "get",
    path: "/api/v1/inbox",
    operationId: "getInbox",
    summary: "The oldest message that waits for the device; it comes again until its receipt has come",
    parameters: [wait],
    answers: { "200": message, "204": { description: "None waits." } },
  },
  {
    method: "delete",
    path: "/api/v1/inbox/{id}",
    operationId: "deleteInboxById",
    summary: "The receipt of a message that came down",
    parameters: [inPath("id", "its `Message-Id`")],
    answers: { "204": nothing },
    errors: ["DATA_NOT_FOUND"],
  },
  {
    method: "post",
    path: "/api/v2/write",
    operationId: "postV2Write",
    summary:
      "InfluxDB line protocol, a message a line; errors have `code` and `message` as InfluxDB 2 has them",
    parameters: [
      {
        name: "precision",
        in: "query",
        required: false,
        description: "unit of the timestamps",
        schema: { type: "string", enum: ["ns", "us", "ms", "s"], default: "ns" },
      },
    ],
    body: { "text/plain": text("weather temp=21.5,hum=40i 1767225600000000000\n") },
    answers: { "204": nothing },
    errors: ofBody,
    schema: {
      type: "object",
      properties: {
        code: { type: "string", description: "as InfluxDB 2 names the kind of error" },
        errorCode: { type: "string" },
        message: { type: "string" },
        errors: { type: "object", additionalProperties: { type: "string" } },
      },
      required: ["code", "errorCode", "message", "errors"],
      additionalProperties: false,
    },
  },
];

/** Adds them to a document that has everything else: their answers have none of the API's headers. */
export function addDeviceOperations(document: Document): void {
  for (const {
    method,
    path,
    operationId,
    summary,
    parameters = [],
    body,
    answers,
    errors = [],
    schema,
  } of operations) {
    const operation: DocumentedOperation = {
      operationId,
      tags: [deviceTag],
      summary,
      security: [{ device: [] }],
      parameters,
      ...(body === undefined ? {} : { requestBody: { content: body } }),
      responses: { ...answers, ...describeFailures([...always, ...errors], schema) },
    };
    document.paths[path] = { ...document.paths[path], [method]: operation };
  }
}

const ofAll: JSONSchema = { $ref: "#/components/schemas/Error" };

function describeFailures(
  codes: readonly ErrorCode[],
  schema: JSONSchema = ofAll,
): Record<string, DocumentedResponse> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    byStatus.set(errorStatus[code], [...(byStatus.get(errorStatus[code]) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => {
      const description = some.map((code) => `\`${code}\`: ${errorText[code]}.`).join(" ");
      const examples = Object.fromEntries(some.map((code) => [code, describeExample(code, schema)]));
      return [String(status), { description, content: { "application/json": { schema, examples } } }];
    }),
  );
}

function describeExample(code: ErrorCode, schema: JSONSchema): object {
  if (schema === ofAll) return { $ref: `#/components/examples/${code}` };
  const { value } = errorExamples[code] as { readonly value: object };
  return { value: { code: "invalid", ...value } };
}
