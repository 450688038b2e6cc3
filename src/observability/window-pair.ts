/** A measure of recent time that any number of readers may read at any time. */
interface WindowPair<Measure> {
  /** Takes what is measured into both windows. */
  readonly both: readonly [Measure, Measure];
  /** The longer window: of the last `windowMs` to twice as much, or since the start. */
  readonly longer: Measure;
  /** To be called now and then, at least once in `windowMs`. */
  turn(): void;
}

/**
 * Two windows that begin anew in turns, each after twice `windowMs`: one of them always holds at least the last
 * `windowMs`, and no reading changes either. `monotonic`: milliseconds, never set.
 */
export function createWindowPair<Measure extends { reset(): void }>(
  make: () => Measure,
  windowMs: number,
  monotonic: () => number,
): WindowPair<Measure> {
  const both = [make(), make()] as const;
  let longer: 0 | 1 = 0;
  let turnedAt = monotonic();
  return {
    both,
    get longer() {
      return both[longer];
    },
    turn: () => {
      const now = monotonic();
      if (now - turnedAt < windowMs) return;
      both[longer].reset();
      longer = longer === 0 ? 1 : 0;
      turnedAt = now;
    },
  };
}
