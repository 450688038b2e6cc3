import { z } from "@hono/zod-openapi";
import { withoutControls } from "../../store/lib/control-characters.js";
import { readInteger, readNumber } from "../../store/lib/number-text.js";
import { inWords, meant } from "../config/validation-texts.js";
import { ApiError, invalid } from "./errors.js";
import { isShallow, tooDeep } from "./json-depth.js";

/** Field types of request bodies and of rows of an import. Numeric text is accepted for every integer and float. */

const toNumber = (value: unknown): unknown =>
  typeof value === "string" ? (readNumber(value) ?? value) : value;
const toInteger = (value: unknown): unknown =>
  typeof value === "string" ? (readInteger(value) ?? value) : value;

/** Documents a schema wrapped in a preprocessor, which the generator cannot see. */
interface NumberDocument {
  readonly type: "integer" | "number";
  readonly minimum?: number;
  readonly enum?: number[];
}

const numberDocuments = new WeakMap<z.ZodType, NumberDocument>();

function documented<Schema extends z.ZodType>(schema: Schema, document: NumberDocument): Schema {
  const field = schema.openapi({ ...document });
  numberDocuments.set(field, document);
  return field;
}

export function integerField(min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  const schema = z.preprocess(toInteger, z.number().int().min(min).max(max));
  return documented(schema, {
    type: "integer",
    ...(min > Number.MIN_SAFE_INTEGER ? { minimum: min } : {}),
  });
}

export function float(min = -Number.MAX_VALUE, max = Number.MAX_VALUE) {
  return documented(z.preprocess(toNumber, z.number().min(min).max(max)), { type: "number" });
}

/** One of some codes. */
export function codeField(...values: readonly number[]) {
  const schema = z.preprocess(
    toInteger,
    z.number().refine((value) => values.includes(value), `must be one of ${values.join(", ")}`),
  );
  return documented(schema, { type: "integer", enum: [...values] });
}

/** A whole range of codes, ends included. */
export function codesField(first: number, last: number) {
  return codeField(...Array.from({ length: last - first + 1 }, (_, i) => first + i));
}

const nameLengthMax = 255;
const textLengthMax = 4096;

/** A name: not empty, at most 255 characters, no control characters. */
export const name = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(nameLengthMax)
  .regex(withoutControls, "must not hold control characters");

export const textField = z.string().max(textLengthMax);

const jsonLengthMax = 16_384;

/** Any JSON value within bounds; cells of an import have not been looked at before. */
export const jsonField = z
  .unknown()
  .refine(isShallow, { message: tooDeep, abort: true })
  .refine((value) => value === undefined || JSON.stringify(value).length <= jsonLengthMax, {
    message: `must be at most ${jsonLengthMax} characters as JSON`,
  });

type Shape = Record<string, z.ZodType>;

/** A create body: `required` fields must be present; an optional field may also be null. */
export function createBody<Required extends Shape, Optional extends Shape>(
  required: Required,
  optional: Optional,
) {
  return z.object({ ...required, ...nullable(optional) });
}

/** An edit body: an absent field keeps its value; null clears an optional one and is refused for a required one. */
export function editBody<Required extends Shape, Optional extends Shape>(
  required: Required,
  optional: Optional,
) {
  return z.object({ ...partial(required), ...nullable(optional) });
}

type Nullable<S extends Shape> = { [K in keyof S]: z.ZodOptional<z.ZodNullable<S[K]>> };
type Partially<S extends Shape> = { [K in keyof S]: z.ZodOptional<S[K]> };

function nullable<S extends Shape>(shape: S): Nullable<S> {
  return mapShape(shape, (schema) => orNull(schema).optional()) as Nullable<S>;
}

function orNull(schema: z.ZodType): z.ZodType {
  const { type, enum: values, ...rest } = numberDocuments.get(schema) ?? {};
  if (type === undefined) return schema.nullable();
  const choices = values === undefined ? {} : { enum: [...values, null] };
  return schema.nullable().openapi({ ...rest, ...choices, type: [type, "null"] });
}

function partial<S extends Shape>(shape: S): Partially<S> {
  return mapShape(shape, (schema) => schema.optional()) as Partially<S>;
}

function mapShape(shape: Shape, change: (schema: z.ZodType) => z.ZodType): Shape {
  return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, change(schema)]));
}

/** A body of nothing but wrong numbers would otherwise list a hundred thousand. */
const wrongFieldsMax = 100;

/**
 * The fields of an object, up to a hundred, in which a text or a key is not valid Unicode because it holds
 * half a surrogate pair. Stored as UTF-8 it would become another character, and a name that its owner never
 * finds again.
 */
function brokenTexts(value: unknown): string[] {
  const fields = new Set<string>();
  const left: [field: string | null, value: unknown][] = [[null, value]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [field, found] = next;
    if (typeof found === "string") {
      if (!found.isWellFormed()) fields.add((field ?? "").toWellFormed());
    } else if (typeof found === "object" && found !== null) {
      for (const [key, member] of Object.entries(found)) {
        const of = field ?? key;
        if (!key.isWellFormed()) fields.add(of.toWellFormed());
        left.push([of, member]);
      }
    }
    if (fields.size >= wrongFieldsMax) break;
  }
  return [...fields];
}

/** Validates with every wrong field named, up to a hundred. @throws ApiError PARAMETER_INVALID, BAD_REQUEST for a body that is no object */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const broken = brokenTexts(value);
  if (broken.length > 0) {
    throw invalid(Object.fromEntries(broken.map((field) => [field, "must not hold half a character"])));
  }
  const parsed = schema.safeParse(value, { error: inWords });
  if (parsed.success) return parsed.data;
  const errors: Record<string, string> = {};
  for (const issue of parsed.error.issues.flatMap(meant).slice(0, wrongFieldsMax)) {
    if (issue.path.length === 0) throw new ApiError("BAD_REQUEST", "the body must be a JSON object");
    errors[issue.path.join(".")] ??= issue.message;
  }
  throw invalid(errors);
}

/** Body fields that `refuseChanged` compares; any value is accepted here. */
export function fixedFields<const Names extends readonly string[]>(names: Names) {
  const entries = names.map((field) => [field, z.unknown().optional()]);
  return Object.fromEntries(entries) as Record<Names[number], z.ZodOptional<z.ZodUnknown>>;
}

/** Fields that may be sent back as read, but not changed. @throws ApiError PARAMETER_INVALID */
export function refuseChanged(body: unknown, record: object, names: readonly string[]): void {
  const sent = body as Readonly<Record<string, unknown>>;
  const stored = record as Readonly<Record<string, unknown>>;
  const errors: Record<string, string> = {};
  for (const field of names) {
    const value = sent[field];
    if (value === undefined || field in stored === false) continue;
    // Numbers may come as text. An array or object is never equal, and String() of one may throw.
    const same = typeof value !== "object" && String(value) === String(stored[field]);
    if (!same) errors[field] = "cannot be changed";
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/** Drops absent fields, so that only those that were sent are written. */
export function present<T extends object>(input: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as never;
}
