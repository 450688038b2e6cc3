import type { Settled } from "./state.js";

/** Several copies of one message, of which one answer is wanted. */
export interface Copies {
  /** For each copy. */
  readonly settled: Settled;
  /** How many there are, once that is known; if there are none, the message is given up. */
  begin(copies: number): void;
}

/** The first acknowledgement settles it; without one, the last of the copies that is given up does. */
export function firstAck(settled: Settled): Copies {
  let all = Number.POSITIVE_INFINITY;
  let givenUp = 0;
  let done = false;

  function settle(acknowledged: boolean): void {
    if (done || (!acknowledged && givenUp < all)) return;
    done = true;
    settled(acknowledged);
  }

  return {
    settled: (acknowledged) => {
      if (!acknowledged) givenUp++;
      settle(acknowledged);
    },
    begin: (copies) => {
      // A copy that is too large for its client has been given up by now.
      all = copies;
      settle(false);
    },
  };
}
