/** The query of a list: pages, filters and ranges of time, and the parameters that are refused as filters. */
import { z } from "@hono/zod-openapi";
import { readRequestTime, timeForms } from "../../query/time-text.js";
import { type Zone, zone } from "../../query/zone.js";
import { StoreError } from "../../store/lib/errors.js";
import { readInteger, readNumber } from "../../store/lib/number-text.js";
import { patternCharactersMax } from "../../store/metadata/db/containing.js";
import type { ColumnType, Filter, Listing, PageRequest } from "../../store/metadata/db/table.js";
import { invalid } from "./errors.js";

export const pageLimitDefault = 10;
export const pageLimitMax = 1000;

/** The filters that a list takes. */
interface ListFields {
  readonly filters: Listing["filters"];
  /** Further spellings of a filter. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** The field, one of the filters, whose times `startTime` and `endTime` bound. */
  readonly range?: string;
}

const rangeNames = ["startTime", "endTime"] as const;

const equalTo: Readonly<Record<ColumnType, string>> = {
  text: "equal to (text)",
  integer: "equal to (integer)",
  real: "equal to (real)",
  time: "equal to the second (time; the forms of startTime)",
  boolean: "true or false",
};

/** The filters that are parameters by their own names, with their `_like` where they have one. */
function listParameters({ filters, range }: ListFields) {
  return Object.entries(filters)
    .filter(([field]) => range === undefined || rangeNames.every((name) => name !== field))
    .map(([field, { type, where }]) => ({ field, type, like: type === "text" && where === undefined }));
}

const parameter = (description: string, example?: string) =>
  z
    .string()
    .optional()
    .openapi({ description, ...(example === undefined ? {} : { example }) });

/** Query parameters of a list: pages, `<field>`, for texts `<field>_like`, and of logs a range of times. */
export function listQuery(fields: ListFields) {
  const shape: Record<string, z.ZodType> = {
    _page: parameter("page number, from 1", "1"),
    _limit: parameter(`page size, at most ${pageLimitMax}`, "10"),
  };
  for (const { field, type, like } of listParameters(fields)) {
    shape[field] = parameter(equalTo[type]);
    if (like) shape[`${field}_like`] = parameter("contains");
  }
  for (const alias of Object.keys(fields.aliases ?? {})) shape[alias] = z.string().optional();
  if (fields.range !== undefined) {
    shape.startTime = parameter(`of ${fields.range}, included; ${timeForms}`);
    shape.endTime = parameter(`of ${fields.range}, not included; the same forms`);
    shape.timezone = parameter("IANA time zone of the times asked for; absent: the deployment's");
  }
  return z.object(shape);
}

/**
 * Reads the query of a list. `place` is the zone of wall-clock times, unless a list with a range is asked for another.
 * @throws ApiError PARAMETER_INVALID naming each wrong parameter
 */
export function pageRequest(
  query: Readonly<Record<string, unknown>>,
  fields: ListFields,
  place: Zone,
): PageRequest {
  const errors: Record<string, string> = {};
  const read = (name: string): string | undefined => {
    const value = query[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const page = wholeNumber(read("_page"), 1, 1, 2 ** 31, "_page", errors);
  const limit = wholeNumber(read("_limit"), pageLimitDefault, 1, pageLimitMax, "_limit", errors);
  const found: Filter[] = [];
  const note = <T>(action: () => T): T | undefined => noting(errors, action);
  const requestedZone = fields.range === undefined ? undefined : read("timezone");
  const times = (requestedZone === undefined ? undefined : note(() => zone(requestedZone))) ?? place;
  for (const { field, type, like } of listParameters(fields)) {
    const equal = read(field);
    const value = equal === undefined ? undefined : note(() => parseValues(equal, type, field, times));
    if (value !== undefined) found.push({ field, like: false, ...value });
    const part = like ? read(`${field}_like`) : undefined;
    if (part !== undefined)
      found.push({ field, like: true, value: parsePattern(part, `${field}_like`, errors) });
  }
  for (const [alias, field] of Object.entries(fields.aliases ?? {})) {
    const value = read(alias);
    if (value === undefined) continue;
    const like = alias.endsWith("_like");
    found.push({ field, like, value: like ? parsePattern(value, alias, errors) : value });
  }
  if (fields.range !== undefined) {
    const bounds = rangeNames.map((name) => {
      const text = read(name);
      return text === undefined ? undefined : note(() => readRequestTime(text, times, name));
    });
    const [value = Number.MIN_SAFE_INTEGER, until = Number.MAX_SAFE_INTEGER] = bounds;
    if (value >= until) errors.endTime = "the range must end after it starts";
    if (bounds.some((bound) => bound !== undefined)) {
      found.push({ field: fields.range, like: false, value, until });
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return { page, limit, filters: found };
}

/** The text to look for; its length counts characters as readers do. */
function parsePattern(text: string, name: string, errors: Record<string, string>): string {
  if (text.length > patternCharactersMax && [...text].length > patternCharactersMax)
    errors[name] = `must have ${patternCharactersMax} characters at most`;
  return text;
}

/** The result of `action`; if that refuses its input, the error is noted. */
function noting<T>(errors: Record<string, string>, action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "INVALID") throw error;
    Object.assign(errors, error.fields);
    return undefined;
  }
}

const secondMicros = 1_000_000;
const booleans: ReadonlyMap<string, number> = new Map([
  ["true", 1],
  ["1", 1],
  ["false", 0],
  ["0", 0],
]);
const readers = {
  integer: readInteger,
  real: readNumber,
  boolean: (text: string) => booleans.get(text) ?? null,
} as const;

/** The values that match a text, in the field's type. @throws StoreError INVALID */
function parseValues(
  text: string,
  type: ColumnType,
  field: string,
  place: Zone,
): Pick<Filter, "value" | "until"> {
  if (type === "text") return { value: text };
  if (type === "time") {
    // Answers show whole seconds, and callers ask for the times that they see.
    const value = Math.floor(readRequestTime(text, place, field) / secondMicros) * secondMicros;
    return { value, until: value + secondMicros };
  }
  const value = readers[type](text);
  if (value !== null) return { value };
  throw new StoreError("INVALID", `cannot read ${field}`, { [field]: `must be of type ${type}` });
}

/** The fields of a list's items, in all forms in which they are shown. */
function listFieldNames(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodUnion
    ? schema.options.flatMap((one) => listFieldNames(one as z.ZodType))
    : [];
}

/**
 * Parameters that refer to a field that is no filter: fields that the items show and that are not in `filters`, and the
 * `secret` fields. (`_like` of a filter field that is no text is a parameter that does not exist.)
 */
export function refusedParameters(
  fields: ListFields,
  items: z.ZodType,
  secret: readonly string[] = [],
): ReadonlySet<string> {
  const known = new Set(Object.keys(listQuery(fields).shape));
  const unfiltered = [...listFieldNames(items), ...secret].filter((field) => !known.has(field));
  return new Set(unfiltered.flatMap((field) => [field, `${field}_like`]));
}

/** @throws ApiError PARAMETER_INVALID naming each parameter that cannot be a filter */
export function refuseParameters(url: string, refused: ReadonlySet<string>): void {
  // Taken from the text, because a URL that is routed by its path need not be valid as a whole.
  const [, query = ""] = /\?([^#]*)/.exec(url) ?? [];
  const given = [...new URLSearchParams(query)];
  const wrong = given.filter(([name, value]) => value !== "" && refused.has(name));
  if (wrong.length > 0) throw invalid(Object.fromEntries(wrong.map(([name]) => [name, refusal(name)])));
}

function refusal(name: string): string {
  const label = /^(\w+)Label(_like)?$/.exec(name)?.[1];
  return label === undefined
    ? `cannot filter by ${name}`
    : `cannot filter by ${name}: filter by the code, ${label}`;
}

/** A whole number parameter within bounds; a wrong one is noted in `errors`. */
export function wholeNumber(
  text: string | undefined,
  absent: number,
  min: number,
  max: number,
  parameter: string,
  errors: Record<string, string>,
): number {
  if (text === undefined) return absent;
  const value = readInteger(text);
  if (value !== null && value >= min && value <= max) return value;
  errors[parameter] = `must be a whole number from ${min} to ${max}`;
  return absent;
}
