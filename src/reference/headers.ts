import { type Document, type DocumentedResponse, type JSONSchema, resolve } from "./close-schemas.js";

const text = { type: "string" };
const count = { type: "integer", minimum: 0 };

/** The headers of answers, as components. */
export const headers = {
  "X-Request-Id": {
    description: "Names this request in the service's log.",
    required: true,
    schema: { type: "string", format: "uuid" },
  },
  "Api-Variant": {
    description: "The variant that this answer is written in.",
    required: true,
    schema: { type: "string", enum: ["A", "B"] },
  },
  Truncated: {
    description:
      "There where the answer leaves out part of what there is, or a count stopped at its bound. Of a page that is shorter than its `_limit`: ask again with a smaller one.",
    schema: { type: "string", enum: ["true"] },
  },
  "Formula-Errors": {
    description: "How many values a formula could not give; they are null.",
    schema: count,
  },
  "Retry-After": { description: "Seconds after which trying again makes sense.", schema: count },
  Vary: { description: "The headers of the request that the answer depends on.", schema: text },
  Allow: { description: "The methods that the path takes.", schema: text },
  "WWW-Authenticate": { description: "`Bearer`, or `Share`", schema: text },
  ETag: { description: "Changes with the content.", schema: text },
};

type Name = keyof typeof headers;

const byStatus: Readonly<Record<string, readonly Name[]>> = {
  405: ["Allow"],
  401: ["WWW-Authenticate"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};

/** Answers that are not pages and yet may be truncated, or that count faults. */
const byPath: Readonly<Record<string, readonly Name[]>> = {
  "/api/v1/original_data": ["Truncated", "ETag"],
  "/api/v1/device_track": ["Truncated"],
  ...Object.fromEntries(
    ["products", "devices", "data_points", "data_streams", "metric_data_points"].map((name) => [
      `/api/v1/platform_select/${name}`,
      ["Truncated"] as const,
    ]),
  ),
  "/api/v1/metrics_data": ["Formula-Errors", "ETag"],
  "/openapi.json": ["ETag"],
  "/reference": ["ETag"],
};

/** Fields that hold at most the newest of their entries. */
const boundedFields = ["devices", "mqtt_acl"];

export function addHeaders(document: Document): void {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(operations)) {
      if (byPath[path]?.includes("ETag")) responses["304"] = { description: "As `If-None-Match` has it." };
      for (const [status, answer] of Object.entries(responses)) {
        const special: Name[] = status < "400" ? [...(byPath[path] ?? [])] : [];
        if (status < "400" && path.startsWith("/api/")) special.push("Vary");
        if (status < "300" && mayBeCut(document, answer)) special.push("Truncated");
        answer.headers = describeHeaders(status, special);
      }
    }
  }
  for (const [path, operations] of Object.entries(document.paths)) {
    const names = path.startsWith("/api/") ? ["ApiVariant", "TimeFormat", "LabelLanguage"] : ["ApiVariant"];
    const shared = names.map((name) => ({ $ref: `#/components/parameters/${name}` }) as never);
    for (const operation of Object.values(operations))
      operation.parameters = [...shared, ...(operation.parameters ?? [])];
  }
  document.components.parameters = {
    ApiVariant: {
      name: "Api-Variant",
      in: "header",
      description: "The variant to answer in; absent: the deployment's.",
      schema: { type: "string", enum: ["A", "B"] },
    },
    TimeFormat: {
      name: "Time-Format",
      in: "header",
      description:
        "`ms`: the stamps of records are milliseconds since 1970, numbers, which are exact where a wall clock is set back.",
      schema: { type: "string", enum: ["text", "ms"], default: "text" },
    },
    LabelLanguage: {
      name: "Label-Language",
      in: "header",
      description: "The language of labels, and of the texts of alerts that no rule has named.",
      schema: { type: "string", enum: ["zh", "en"], default: "zh" },
    },
  };
}

/** References to the headers that every answer of that status has, and to those special to it. */
export function describeHeaders(status: string, special: readonly Name[] = []): Record<string, object> {
  const names = new Set<Name>(["X-Request-Id", "Api-Variant", ...(byStatus[status] ?? []), ...special]);
  return Object.fromEntries([...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function mayBeCut(document: Document, { content = {} }: DocumentedResponse): boolean {
  const { schema } = content["application/json"] ?? {};
  return schema !== undefined && forms(document, schema).some((one) => isPage(one) || hasBounded(one));
}

function forms(document: Document, schema: JSONSchema): JSONSchema[] {
  const own = resolve(document, schema);
  return own.anyOf === undefined ? [own] : own.anyOf.flatMap((one) => forms(document, one));
}

function isPage({ properties = {} }: JSONSchema): boolean {
  return "items" in properties && "meta" in properties;
}

function hasBounded({ properties = {} }: JSONSchema): boolean {
  return boundedFields.some((field) => field in properties);
}
