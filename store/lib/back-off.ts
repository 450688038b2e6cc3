/** Retries failed work after delays that grow. */

/** Milliseconds: each delay is twice the one before, up to the longest. */
export interface BackOffDelays {
  readonly first: number;
  readonly longest: number;
}

/** Milliseconds to wait after so many failures in a row. */
export const delayAfter = ({ first, longest }: BackOffDelays, failures: number): number =>
  Math.min(longest, first * 2 ** Math.min(20, failures - 1));

/** Which subjects fail, and until when each is left alone. A subject that has not failed takes no memory. */
interface BackOffs<Subject> {
  /** Failures in a row. */
  failures(subject: Subject): number;
  isWaiting(subject: Subject): boolean;
  /** @param waits whether the next attempt has to wait */
  failed(subject: Subject, waits?: boolean): void;
  worked(subject: Subject): void;
  /** All that have failed, whether they still wait or not. */
  subjects(): Subject[];
  /** As if nothing had failed. */
  clear(): void;
  /** How many have failed. */
  readonly size: number;
}

/** @param monotonic milliseconds; never set */
export function createBackOffs<Subject>(delays: BackOffDelays, monotonic: () => number): BackOffs<Subject> {
  const known = new Map<Subject, { readonly failures: number; readonly until: number }>();
  const failures = (subject: Subject): number => known.get(subject)?.failures ?? 0;
  return {
    failures,
    isWaiting: (subject) => (known.get(subject)?.until ?? 0) > monotonic(),
    failed: (subject, waits = true) => {
      const count = failures(subject) + 1;
      known.set(subject, { failures: count, until: waits ? monotonic() + delayAfter(delays, count) : 0 });
    },
    worked: (subject) => {
      known.delete(subject);
    },
    subjects: () => [...known.keys()],
    clear: () => known.clear(),
    get size() {
      return known.size;
    },
  };
}
