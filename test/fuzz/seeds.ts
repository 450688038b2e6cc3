/** Cases that once found something; each run begins with them. */
import type { Grammar } from "./cases.js";

export interface KeptSeed {
  readonly grammar: Grammar;
  readonly seed: number;
  /** What it found. */
  readonly found: string;
}

export const keptSeeds: readonly KeptSeed[] = [];
