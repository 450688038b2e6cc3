import type { Follower } from "../../../store/journal/dead-letters.js";
import type { StoreErrorCode } from "../../../store/lib/errors.js";
import type { SqlValue } from "../../../store/metadata/db/db.js";
import type { SavedRows } from "../../../store/mqtt-sessions/session-rows.js";

/** The input of a thread that processes one record where it can do no harm. */
export interface TrialStart {
  readonly follower: Follower;
  readonly node: number;
  readonly timezone: string;
  /** Times before this are refused; microseconds. */
  readonly earliest: number;
  /** The oldest time of a point that is kept, microseconds; 0 = no limit. */
  readonly oldest: number;
  /** Encoded records; the one to be tried is the last, after those that its sessions need. */
  readonly records: readonly Uint8Array[];
  /** For sessions, the saved rows of the device. */
  readonly saved: SavedRows | null;
}

/** Messages from the thread, which reads the metadata through its starter and writes nothing. */
export type FromTrial =
  | { readonly kind: "begun" }
  | { readonly kind: "read"; readonly call: number; readonly sql: string; readonly args: readonly SqlValue[] }
  | { readonly kind: "done" };

/** Messages to the thread. */
export type ToTrial =
  | { readonly call: number; readonly rows: readonly unknown[] }
  | { readonly call: number; readonly code: StoreErrorCode | null; readonly message: string };
