import { StoreError } from "../../store/lib/errors.js";

/** The time that the formulas of one answer may hold the thread, charged as it passes. */
export interface Computing {
  /** @param ms time spent. @throws StoreError LIMIT naming the bound once it is used up */
  spend(ms: number): void;
}

export function createComputing(seconds: number): Computing {
  let left = seconds * 1000;
  return {
    spend: (ms) => {
      left -= ms;
      if (left >= 0) return;
      throw new StoreError("LIMIT", "cannot compute the formulas of so much", {
        limit: `the formulas of an answer compute for ${seconds} s at most: shorten the range or ask for fewer metrics`,
      });
    },
  };
}
