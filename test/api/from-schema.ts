import fc, { type Arbitrary } from "fast-check";

/** What request schemas of the reference consist of. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export type Schemas = Readonly<Record<string, Schema>>;

function resolve(schemas: Schemas, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const named = schemas[schema.$ref.replace("#/components/schemas/", "")];
  if (named === undefined) throw new Error(`the reference has no ${schema.$ref}`);
  return resolve(schemas, named);
}

/** The object schemas among which a body may choose. */
export function alternatives(schemas: Schemas, schema: Schema): Schema[] {
  const found = resolve(schemas, schema);
  const among = found.anyOf ?? found.oneOf;
  return among === undefined ? [found] : among.flatMap((one) => alternatives(schemas, one));
}

const textLengthMax = 40;
const wholeMax = 2 ** 53 - 1;

/** Values that the schema takes, or nearly: patterns are tried, cross-field rules are not known here. */
export function fromSchema(schemas: Schemas, given: Schema, depth = 0): Arbitrary<unknown> {
  const schema = resolve(schemas, given);
  const sub = (one: Schema) => fromSchema(schemas, one, depth + 1);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const among = schema.anyOf ?? schema.oneOf;
  if (among !== undefined) return fc.oneof(...among.map(sub));
  const parts = schema.allOf?.map((one) => resolve(schemas, one)) ?? [];
  const properties = Object.assign({}, schema.properties, ...parts.map((one) => one.properties)) as Schemas;
  if (Object.keys(properties).length > 0) {
    const required = [schema, ...parts].flatMap((one) => one.required ?? []);
    const fields = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, sub(one)]));
    return fc.record(fields, { requiredKeys: required.filter((name) => name in fields) });
  }
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["any"]);
  return fc.oneof(...types.map((type) => ofType(type, schema, sub)));
}

function ofType(type: string, schema: Schema, sub: (one: Schema) => Arbitrary<unknown>): Arbitrary<unknown> {
  const {
    minimum: min = -wholeMax,
    maximum: max = wholeMax,
    minLength = 0,
    maxLength = textLengthMax,
  } = schema;
  switch (type) {
    case "string":
      return ofPattern(schema, minLength, Math.max(minLength, Math.min(maxLength, textLengthMax)));
    case "integer": {
      const least = Math.max(min, 0);
      return fc.oneof(fc.integer({ min: least, max: Math.min(max, least + 5) }), fc.maxSafeInteger());
    }
    case "number":
      return fc.double({ min: Math.max(min, -1e6), max: Math.min(max, 1e6), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(schema.items === undefined ? fc.jsonValue() : sub(schema.items), { maxLength: 4 });
    case "null":
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function ofPattern({ pattern }: Schema, minLength: number, maxLength: number): Arbitrary<string> {
  const free = fc.string({ unit: "grapheme", minLength, maxLength });
  if (pattern === undefined) return free;
  try {
    return fc.stringMatching(new RegExp(pattern, "u"));
  } catch {
    // A pattern beyond what can be generated from.
    return free;
  }
}
