import { jsonLevelsMax } from "../../ingest/decode/json-bounds.js";
import { ApiError, invalid } from "./errors.js";

const isParent = (value: unknown): value is object => typeof value === "object" && value !== null;

/**
 * Whether arrays and objects are nested no deeper than messages may be. JSON.parse follows any depth, while SQLite's
 * JSON functions stop at 1,000 levels and JSON.stringify where the stack ends; this function needs no stack.
 */
export function isShallow(value: unknown): boolean {
  let level = [value].filter(isParent);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > jsonLevelsMax) return false;
    level = level.flatMap((one) => Object.values(one).filter(isParent));
  }
  return true;
}

export const tooDeep = `must not be nested deeper than ${jsonLevelsMax} levels`;

/** @throws ApiError PARAMETER_INVALID that names the fields which are nested too deeply, BAD_REQUEST if it is the body */
export function requireShallow(body: unknown): void {
  if (isShallow(body)) return;
  if (Array.isArray(body)) throw new ApiError("BAD_REQUEST", `the body ${tooDeep}`);
  const deep = Object.entries(body as object).filter(([, value]) => !isShallow([value]));
  throw invalid(Object.fromEntries(deep.map(([name]) => [name, tooDeep])));
}
