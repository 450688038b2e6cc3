import { createHash } from "node:crypto";

/** Slows down guessing: after some failures of one (address, name) each further one doubles the wait. */
export interface BackOff {
  /**
   * Milliseconds to wait; 0: the attempt may be made. It counts as a failure until `succeeded` says otherwise, so
   * that attempts at once are counted like those one after the other.
   */
  attempt(key: string): number;
  succeeded(key: string): void;
  /** Nobody could say whether it was right: it is taken back. */
  undecided(key: string): void;
}

const waitMsMax = 300_000;
const keysMax = 10_000;
/** Longer keys are held as their hash. */
const keyLengthMax = 128;

/** `monotonic`: milliseconds, never set. `freeFailures`: so many attempts cost no wait. */
export function createBackOff(monotonic: () => number, freeFailures: number): BackOff {
  const failures = new Map<string, { count: number; until: number }>();
  return {
    attempt: (name) => {
      const key = bounded(name);
      const known = failures.get(key);
      const leftMs = (known?.until ?? 0) - monotonic();
      if (leftMs > 0) return leftMs;
      const count = (known?.count ?? 0) + 1;
      const waitMs = count < freeFailures ? 0 : Math.min(1000 * 2 ** (count - freeFailures), waitMsMax);
      failures.delete(key);
      failures.set(key, { count, until: monotonic() + waitMs });
      const oldest = failures.keys().next().value;
      if (failures.size > keysMax && oldest !== undefined) failures.delete(oldest);
      return 0;
    },
    succeeded: (name) => {
      failures.delete(bounded(name));
    },
    undecided: (name) => {
      const known = failures.get(bounded(name));
      if (known === undefined) return;
      known.count--;
      known.until = 0;
    },
  };
}

function bounded(name: string): string {
  return name.length <= keyLengthMax ? name : createHash("sha256").update(name).digest("base64");
}
