import type { BoundValue } from "./connection/connection.js";
import type { SqlValue } from "./sql.js";

/** A value to be stored. libSQL aborts the process on ill-formed text and cuts text at NUL: it must be given neither. */
export function bindStored(value: SqlValue): BoundValue {
  if (value === null || typeof value === "number" || value instanceof Uint8Array) return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return cleanText(typeof value === "string" ? value : JSON.stringify(value));
}

/**
 * A value that a read looks for. No text with NUL is stored, so such a text must not find the one without it: NUL is
 * replaced by another control character, which no name has.
 */
export function bindSought(value: SqlValue): BoundValue {
  if (typeof value === "string") return cleanText(value.replaceAll("\0", standIn));
  const bound = bindStored(value);
  if (typeof bound !== "string" || !bound.includes(escapedNul)) return bound;
  return cleanText(
    JSON.stringify(value, (_, one) => (typeof one === "string" ? one.replaceAll("\0", standIn) : one)),
  );
}

const standIn = "\u0001";
/** NUL as JSON writes it. */
const escapedNul = "\\u0000";

/** The text without NUL and with lone surrogates replaced. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "");
}
