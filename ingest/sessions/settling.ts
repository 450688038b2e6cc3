import type { Settled } from "./state.js";

/** Several copies of one message, of which one answer is wanted. */
export interface Copies {
  /** For each copy. */
  readonly settled: Settled;
  /** How many there are, once that is known. */
  begin(copies: number): void;
}

/** The first acknowledgement settles it; without one, the last of the copies that is given up does. */
export function firstOf(settled: Settled): Copies {
  let left = Number.POSITIVE_INFINITY;
  let done = false;
  return {
    settled: (acknowledged) => {
      left--;
      if (done || (!acknowledged && left > 0)) return;
      done = true;
      settled(acknowledged);
    },
    begin: (copies) => {
      left = copies;
    },
  };
}
