import { isDamage } from "../../files/database-faults.js";
import { StoreError } from "../../lib/errors.js";

/**
 * Gives what libSQL throws a code of the port: everything but broken files may pass by itself. Needs no libSQL,
 * which the main thread need not load for it.
 */
export function asStoreError(error: unknown, verb: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error.message : String(error);
  return new StoreError(
    isDamage(error) ? "CORRUPT" : "UNAVAILABLE",
    `cannot ${verb}: ${cause}`,
    {},
    { cause: error },
  );
}

export function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
