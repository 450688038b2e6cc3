import type { Follower } from "../../../store/journal/set-aside.js";
import type { StoreErrorCode } from "../../../store/lib/errors.js";
import type { SqlValue } from "../../../store/metadata/db/db.js";
import type { SavedRows } from "../../../store/mqtt-sessions/session-store.js";

/** What a thread is told that works on one record where it harms nobody. */
export interface TrialStart {
  readonly follower: Follower;
  readonly node: number;
  readonly timezone: string;
  /** Before it no time is taken, microseconds. */
  readonly earliest: number;
  /** The oldest time of a point that is kept, microseconds; 0 = no limit. */
  readonly oldest: number;
  /** Encoded, the one that is tried last; before it what its sessions need. */
  readonly records: readonly Uint8Array[];
  /** Of sessions: what is saved of the device. */
  readonly saved: SavedRows | null;
}

/** From the thread. It reads the metadata through the one who has started it, and writes nothing. */
export type FromTrial =
  | { readonly kind: "begun" }
  | { readonly kind: "read"; readonly call: number; readonly sql: string; readonly args: readonly SqlValue[] }
  | { readonly kind: "done" };

/** To the thread. */
export type ToTrial =
  | { readonly call: number; readonly rows: readonly unknown[] }
  | { readonly call: number; readonly code: StoreErrorCode | null; readonly message: string };
