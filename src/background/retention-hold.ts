/**
 * Keeps files and rows in place for a while: what retention would remove, and the points of deleted devices, whose
 * removal is still to be done in a copy. Asked for by a backup, again and again while it copies.
 */
export interface RetentionHold {
  readonly isHeld: boolean;
  /** @param seconds from now on; 0 ends it, and no other holder's */
  keep(seconds: number, holder: HoldOwner): void;
}

/** The maker of a backup: a user who runs the command, or the service in a task of its own. */
export type HoldOwner = "command" | "task";

/** @param monotonic milliseconds */
export function createRetentionHold(monotonic: () => number): RetentionHold {
  const until = { command: Number.NEGATIVE_INFINITY, task: Number.NEGATIVE_INFINITY };
  return {
    get isHeld() {
      return monotonic() < Math.max(until.command, until.task);
    },
    keep: (seconds, holder) => {
      until[holder] = monotonic() + seconds * 1000;
    },
  };
}
