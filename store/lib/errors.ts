/** The only error class of the base layers. Messages read "cannot <verb> <thing>: <cause>". */
export type StoreErrorCode =
  | "UNAVAILABLE" // the engine or the disk cannot serve now; the same call may succeed later
  | "MISMATCH" // the engine holds something of another type here; the message is meant for the caller
  | "CONFLICT" // breaks a uniqueness rule
  | "OUTDATED" // the record has another version than the caller had
  | "REFERENCED" // other records refer to this one
  | "NOT_FOUND"
  | "LIMIT" // a named bound was exceeded
  | "CORRUPT" // what is on disk cannot be read
  | "INVALID" // the caller's input
  | "DENIED"; // the rights that the caller had shown no longer hold

export class StoreError extends Error {
  constructor(
    readonly code: StoreErrorCode,
    message: string,
    readonly fields: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "StoreError";
  }
}

/** Whether the same call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && error.code === "UNAVAILABLE";
}

/** For `catch` where a record may be absent: returns `value` then, and throws every other error on. */
export function ifNotFound<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof StoreError && error.code === "NOT_FOUND") return value;
    throw error;
  };
}

/** The thrown value as an error of the base layers; one of another class is INVALID. */
export function asStoreError(thrown: unknown): StoreError {
  return thrown instanceof StoreError ? thrown : new StoreError("INVALID", asError(thrown).message);
}

/** The thrown value as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
