/** Requests of every route of the reference: parameters, headers, bodies and framing, as trees. */
import type { Schema, Schemas } from "../api/from-schema.js";
import type { Random } from "./random.js";
import { type Group, type Part, prefixed, separated, sequence } from "./tree.js";

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly body: Schema | null;
}

export interface Reference {
  readonly operations: readonly Operation[];
  readonly schemas: Schemas;
}

interface Described {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** An endless answer has tests of its own. */
const leftOut = /\/live$/;

/** Reads the operations off an OpenAPI document. */
export function operationsOf(document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Schemas };
}): Reference {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      query: parameters.flatMap(({ in: place, name }) => (place === "query" ? [name] : [])),
      body: requestBody?.content["application/json"]?.schema ?? null,
    })),
  );
  return {
    operations: operations.filter(({ path }) => !leftOut.test(path)),
    schemas: document.components.schemas,
  };
}

const values = [
  ...[
    "1",
    "2",
    "10",
    "temp",
    "true",
    "2026-01-01 00:00:00",
    "2026-01-02T00:00:00Z",
    "hour",
    "day",
    "csv",
    "xlsx",
  ],
  ...["id", "none", "A", "B", "dataPoint * 2", "a/b", "data", "admin", "1,2", "-1", "0", "x"],
] as const;

const value = (random: Random): Part => sequence(random.pick(values));

function query(names: readonly string[], random: Random): Part[] {
  if (names.length === 0) return [];
  const one = () => separated("=", [random.pick(names), value(random)]);
  return [sequence("?"), separated("&", random.some(0, 5, one))];
}

function target({ path, query: names }: Operation, random: Random): Part {
  const levels = path.split("/").map((level) => (level.startsWith("{") ? value(random) : sequence(level)));
  return sequence(separated("/", levels), ...query(names, random));
}

/** JSON of a schema, each value a part of its own. */
function json(schemas: Schemas, given: Schema, random: Random, depth = 0): Part {
  const schema = given.$ref === undefined ? given : (schemas[given.$ref.replace(/.*\//, "")] ?? {});
  const among = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (among !== undefined && among.length > 0) return json(schemas, random.pick(among), random, depth);
  if (schema.enum !== undefined) return sequence(JSON.stringify(random.pick(schema.enum)));
  if (schema.properties !== undefined && depth < 6) {
    const fields = Object.entries(schema.properties).filter(
      ([name]) => schema.required?.includes(name) === true || random.once(2),
    );
    const members = fields.map(([name, one]) =>
      separated(":", [JSON.stringify(name), json(schemas, one, random, depth + 1)]),
    );
    return sequence("{", separated(",", members), "}");
  }
  switch (typeof schema.type === "string" ? schema.type : random.pick(schema.type ?? ["string"])) {
    case "integer":
    case "number":
      return sequence(random.pick(["0", "1", "2", "3", "-1", "1.5", "1000000", "9007199254740993"]));
    case "boolean":
      return sequence(random.pick(["true", "false"]));
    case "array":
      return sequence(
        "[",
        separated(
          ",",
          random.some(0, 4, () => json(schemas, schema.items ?? {}, random, depth + 1)),
        ),
        "]",
      );
    case "null":
      return sequence("null");
    default:
      return sequence('"', value(random), '"');
  }
}

const header = (name: string, text: string): Part => sequence(separated(": ", [name, text]), "\r\n");

const oddHeaders = [
  ...[
    "Api-Variant: A",
    "Api-Variant: B",
    "Accept: text/csv",
    "Accept: application/x-ndjson",
    "Accept-Encoding: gzip",
  ],
  ...[
    "Expect: 100-continue",
    "If-None-Match: *",
    "Range: bytes=0-",
    "X-Forwarded-For: 1.2.3.4",
    "Origin: x",
    "Upgrade: h2c",
  ],
] as const;

function chunked(body: Part, random: Random): Group {
  const chunk = (part: Part): Part =>
    sequence(
      prefixed((bytes) => Buffer.from(`${bytes.length.toString(16)}\r\n`), part),
      "\r\n",
    );
  return sequence(...random.some(1, 3, () => chunk(body)), "0\r\n\r\n");
}

export interface Content {
  readonly type: string;
  readonly body: Part;
  readonly encoding?: string;
}

/** A whole request with a body, its framing by a length or in chunks. */
export function request(
  start: { readonly method: string; readonly target: Part },
  authorization: string,
  content: Content | null,
  random: Random,
): Group {
  const inChunks = content !== null && random.once(4);
  const odd = random.some(0, 2, () => sequence(random.pick(oddHeaders), "\r\n"));
  const head = [
    sequence(separated(" ", [start.method, start.target, "HTTP/1.1"]), "\r\n"),
    header("Host", "127.0.0.1"),
    header("Authorization", authorization),
    ...odd,
    ...(content === null ? [] : [header("Content-Type", content.type)]),
    ...(content?.encoding === undefined ? [] : [header("Content-Encoding", content.encoding)]),
  ];
  if (content === null) return sequence(...head, "\r\n");
  if (inChunks) return sequence(...head, "Transfer-Encoding: chunked\r\n\r\n", chunked(content.body, random));
  const framed = prefixed((body) => Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), content.body);
  return sequence(...head, framed);
}

/** Any request that the reference describes. */
export function anyRequest({ operations, schemas }: Reference, authorization: string, random: Random): Group {
  const operation = random.pick(operations);
  const start = { method: operation.method, target: target(operation, random) };
  const content =
    operation.body === null
      ? null
      : { type: "application/json", body: json(schemas, operation.body, random) };
  return request(start, authorization, content, random);
}
