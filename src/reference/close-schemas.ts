/** The part of OpenAPI 3.1 and JSON Schema that our document uses. */
export interface JSONSchema {
  $ref?: string;
  type?: string | readonly string[];
  properties?: Record<string, JSONSchema>;
  required?: string[];
  additionalProperties?: boolean | JSONSchema;
  items?: JSONSchema;
  anyOf?: JSONSchema[];
  oneOf?: JSONSchema[];
  allOf?: JSONSchema[];
  enum?: readonly unknown[];
  const?: unknown;
  format?: string;
  description?: string;
  example?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minItems?: number;
}

export interface Media {
  schema?: JSONSchema;
  example?: unknown;
  examples?: Record<string, object>;
}

export interface DocumentedResponse {
  $ref?: string;
  description: string;
  headers?: Record<string, object>;
  content?: Record<string, Media>;
}

export interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: JSONSchema;
  example?: unknown;
}

export interface DocumentedOperation {
  operationId: string;
  tags: string[];
  summary: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, DocumentedResponse>;
}

export interface Document {
  openapi: string;
  paths: Record<string, Record<string, DocumentedOperation>>;
  tags: { name: string; description: string }[];
  components: {
    schemas?: Record<string, JSONSchema>;
    parameters?: object;
    headers?: object;
    examples?: object;
    responses?: Record<string, DocumentedResponse>;
  };
}

export function listOperations(document: Document): DocumentedOperation[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path));
}

/** The schema that a reference points to. */
export function resolve(document: Document, schema: JSONSchema): JSONSchema {
  if (schema.$ref === undefined) return schema;
  const found = document.components.schemas?.[schema.$ref.replace("#/components/schemas/", "")];
  if (found === undefined) throw new Error(`cannot find ${schema.$ref}`);
  return found;
}

/**
 * Makes answers exact: objects with named fields have no others. Requests stay open, because unknown fields are
 * ignored, and so do schemas that both use.
 */
export function closeAnswers(document: Document): void {
  const schemas = document.components.schemas ?? {};
  for (const schema of Object.values(schemas)) flatten(document, schema);
  const asked = new Set<JSONSchema>();
  const answered = new Set<JSONSchema>();
  for (const { requestBody, responses } of listOperations(document)) {
    for (const { schema } of Object.values(requestBody?.content ?? {})) collect(document, schema, asked);
    for (const { content } of Object.values(responses)) {
      for (const { schema } of Object.values(content ?? {})) collect(document, schema, answered);
    }
  }
  for (const schema of answered) {
    if (asked.has(schema) || schema.properties === undefined) continue;
    schema.additionalProperties ??= false;
  }
}

function collect(document: Document, schema: JSONSchema | undefined, found: Set<JSONSchema>): void {
  if (schema === undefined) return;
  flatten(document, schema);
  const own = resolve(document, schema);
  if (found.has(own)) return;
  found.add(own);
  for (const inner of within(own)) collect(document, inner, found);
}

function within(schema: JSONSchema): JSONSchema[] {
  const { properties = {}, items, anyOf = [], oneOf = [], additionalProperties } = schema;
  const more = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [...Object.values(properties), ...(items === undefined ? [] : [items]), ...anyOf, ...oneOf, ...more];
}

/** Turns an extended object, written as `allOf` of its base and its additions, into one object that can be closed. */
function flatten(document: Document, schema: JSONSchema): void {
  if (schema.allOf === undefined) return;
  const parts = schema.allOf.map((part) => {
    const whole = resolve(document, part);
    flatten(document, whole);
    return whole;
  });
  if (!parts.every(({ properties }) => properties !== undefined)) return;
  delete schema.allOf;
  schema.type = "object";
  schema.properties = Object.assign({}, ...parts.map(({ properties }) => properties), schema.properties);
  schema.required = [
    ...new Set([...parts.flatMap(({ required = [] }) => required), ...(schema.required ?? [])]),
  ];
}
