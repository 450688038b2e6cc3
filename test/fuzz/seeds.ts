/** Cases that once found something; each run begins with them. */
import type { Grammar } from "./cases.js";

interface KeptSeed {
  readonly grammar: Grammar;
  readonly seed: number;
  /** What it found. */
  readonly found: string;
}

export const keptSeeds: readonly KeptSeed[] = [
  { grammar: "files", seed: 3492610688, found: "500 to a body under a Host that no URL can have" },
];
