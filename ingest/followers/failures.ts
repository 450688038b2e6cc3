import type { Follower } from "../../store/journal/dead-letters.js";
import { isUnavailable, StoreError } from "../../store/lib/errors.js";

/** A record that could not be worked on: it alone is passed over. */
export interface FailedRecord {
  readonly follower: Follower;
  readonly id: number;
  readonly device: number;
  readonly error: Error;
}

/** Called for each. */
export type OnFailed = (failed: FailedRecord) => void;

/**
 * Whether an error lies in what was read, so that it would come again for that record alone, and not in an engine,
 * where it would come for every other record too. Errors of the metadata's engine that we do not translate are called LibsqlError.
 */
export function liesInRecord(error: unknown): boolean {
  if (error instanceof StoreError) return !isUnavailable(error);
  return !(error instanceof Error && error.name === "LibsqlError");
}
