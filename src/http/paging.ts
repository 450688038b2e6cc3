import { z } from "@hono/zod-openapi";
import type { Filter, Listing, Page, PageRequest } from "../../store/table.js";
import { ApiError, invalid } from "./errors.js";
import type { Answer } from "./route.js";

export const pageLimitDefault = 10;
export const pageLimitMax = 1000;
export const idsMax = 1000;

type Filters = Listing["filters"];

/** Query parameters of a list: pages, `<field>` and, for texts, `<field>_like`. */
export function listQuery(filters: Filters, aliases: Readonly<Record<string, string>> = {}) {
  const shape: Record<string, z.ZodType> = {
    _page: z.string().optional().openapi({ description: "page number, from 1", example: "1" }),
    _limit: z
      .string()
      .optional()
      .openapi({ description: `page size, at most ${pageLimitMax}`, example: "10" }),
  };
  for (const [field, { type, where }] of Object.entries(filters)) {
    shape[field] = z
      .string()
      .optional()
      .openapi({ description: `equal to (${type})` });
    if (type === "text" && where === undefined)
      shape[`${field}_like`] = z.string().optional().openapi({ description: "contains" });
  }
  for (const alias of Object.keys(aliases)) shape[alias] = z.string().optional();
  return z.object(shape);
}

/** @throws ApiError PARAMETER_INVALID naming each wrong parameter */
export function pageRequest(
  query: Readonly<Record<string, unknown>>,
  filters: Filters,
  aliases: Readonly<Record<string, string>> = {},
): PageRequest {
  const errors: Record<string, string> = {};
  const read = (parameter: string): string | undefined => {
    const value = query[parameter];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const page = wholeNumber(read("_page"), 1, 1, 2 ** 31, "_page", errors);
  const limit = wholeNumber(read("_limit"), pageLimitDefault, 1, pageLimitMax, "_limit", errors);
  const found: Filter[] = [];
  for (const [field, { type, where }] of Object.entries(filters)) {
    const equal = read(field);
    if (equal !== undefined) {
      const value = type === "text" ? equal : Number(equal);
      if (typeof value === "number" && !isNumeric(equal, type)) errors[field] = `must be of type ${type}`;
      found.push({ field, like: false, value });
    }
    const like = type === "text" && where === undefined ? read(`${field}_like`) : undefined;
    if (like !== undefined) found.push({ field, like: true, value: like });
  }
  for (const [alias, field] of Object.entries(aliases)) {
    const value = read(alias);
    if (value !== undefined) found.push({ field, like: alias.endsWith("_like"), value });
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return { page, limit, filters: found };
}

function isNumeric(text: string, type: string): boolean {
  return type === "integer" ? /^-?\d{1,16}$/.test(text) : text.trim() !== "" && Number.isFinite(Number(text));
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
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  errors[parameter] = `must be a whole number from ${min} to ${max}`;
  return absent;
}

/** The page envelope of the interface. */
export function pageAnswer<Row>(page: Page<Row>, request: PageRequest, view: (row: Row) => object): Answer {
  return {
    status: 200,
    body: {
      items: page.items.map(view),
      meta: { count: page.count, limit: request.limit, page: request.page },
    },
    headers: page.truncated === true ? { Truncated: "true" } : {},
  };
}

export const idsQuery = z.object({
  ids: z
    .string()
    .optional()
    .openapi({ description: `one id, or up to ${idsMax} separated by commas`, example: "1,2" }),
});

/** The id texts of `ids`, each once. @throws ApiError PARAMETER_INVALID */
export function idTexts(query: { readonly ids?: string | undefined }): string[] {
  const texts = (query.ids ?? "").split(",").map((text) => text.trim());
  if (texts.some((text) => text === ""))
    throw invalid({ ids: "must be one id, or several separated by commas" });
  const unique = [...new Set(texts)];
  if (unique.length > idsMax) throw invalid({ ids: `must be at most ${idsMax} ids` });
  return unique;
}

/** The one record id of a path. @throws ApiError DATA_NOT_FOUND */
export function only(ids: readonly number[]): number {
  const [id] = ids;
  if (id === undefined) throw new ApiError("DATA_NOT_FOUND", "cannot find the record");
  return id;
}
