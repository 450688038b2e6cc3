/** Doubles with each failure in a row. */
const backOffMs = { first: 5000, longest: 600_000 } as const;

/** Milliseconds to wait after so many failures in a row. */
export const waitMs = (failures: number): number =>
  Math.min(backOffMs.longest, backOffMs.first * 2 ** Math.min(20, failures - 1));

/** Which contact points fail, and until when they are left alone. */
interface BackOffs {
  readonly size: number;
  ids(): number[];
  /** Failures in a row. */
  failures(id: number): number;
  isLeftAlone(id: number): boolean;
  /** @param isLeftAlone whether its next attempt waits */
  failed(id: number, isLeftAlone: boolean): void;
  worked(id: number): void;
}

/** @param monotonic milliseconds; never set */
export function createBackOffs(monotonic: () => number): BackOffs {
  const known = new Map<number, { readonly failures: number; readonly until: number }>();
  const failures = (id: number): number => known.get(id)?.failures ?? 0;
  return {
    get size() {
      return known.size;
    },
    ids: () => [...known.keys()],
    failures,
    isLeftAlone: (id) => (known.get(id)?.until ?? 0) > monotonic(),
    failed: (id, isLeftAlone) => {
      const count = failures(id) + 1;
      known.set(id, { failures: count, until: isLeftAlone ? monotonic() + waitMs(count) : 0 });
    },
    worked: (id) => {
      known.delete(id);
    },
  };
}
