import { isDamage } from "../../files/database-faults.js";
import { StoreError } from "../../lib/errors.js";

/**
 * Turns what libSQL throws into a StoreError: everything but damage may pass by itself. Does not import libSQL, so that
 * the main thread need not load it.
 */
export function toSeriesError(error: unknown, verb: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error.message : String(error);
  return new StoreError(
    isDamage(error) ? "CORRUPT" : "UNAVAILABLE",
    `cannot ${verb}: ${cause}`,
    {},
    { cause: error },
  );
}

export function readErrorCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
