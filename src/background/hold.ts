/**
 * Keeps files and rows in place for a while: what retention would remove, and the points of deleted devices, whose
 * removal is still to be done in a copy. Asked for by a backup, again and again while it copies.
 */
export interface Hold {
  readonly isHeld: boolean;
  /** @param seconds from now on; 0 ends it */
  keep(seconds: number): void;
}

/** @param monotonic milliseconds */
export function createHold(monotonic: () => number): Hold {
  let until = Number.NEGATIVE_INFINITY;
  return {
    get isHeld() {
      return monotonic() < until;
    },
    keep: (seconds) => {
      until = monotonic() + seconds * 1000;
    },
  };
}
