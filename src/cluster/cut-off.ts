/**
 * When a node gives up what it has since it cannot keep anything and others can. Where nobody can, nodes find that out
 * within seconds of each other, and as long after each other that they can again: meanwhile nothing is to move.
 */
import { beatMs } from "./node-watch.js";

interface CutOff {
  /** After each look. Whether it has been so for long enough, at every look. */
  hasLasted(isCutOff: boolean): boolean;
}

/** Longer than it takes all nodes to say that they cannot reach the brokers. */
const lastsMs = 10_000;

/** @param monotonic milliseconds; never set */
export function createCutOff(monotonic: () => number): CutOff {
  let seenAt: number | null = null;
  let ms = 0;
  return {
    hasLasted: (isCutOff) => {
      const now = monotonic();
      // A process that was paused has not looked: between two looks no more than one beat counts.
      if (isCutOff && seenAt !== null) ms += Math.min(now - seenAt, beatMs);
      if (!isCutOff) ms = 0;
      seenAt = isCutOff ? now : null;
      return ms >= lastsMs;
    },
  };
}
