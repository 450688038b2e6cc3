import { StoreError } from "../errors.js";

const CORRUPT = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB"]);

/**
 * Gives what libSQL throws a code of the port: everything but broken files may pass by itself. Looks at the
 * code alone, so that the main thread need not load libSQL to use it.
 */
export function asStoreError(error: unknown, verb: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error.message : String(error);
  const corrupt = CORRUPT.has(codeOf(error));
  return new StoreError(
    corrupt ? "CORRUPT" : "UNAVAILABLE",
    `cannot ${verb}: ${cause}`,
    {},
    { cause: error },
  );
}

export function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
