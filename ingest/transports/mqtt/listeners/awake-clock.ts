/** A clock that stands still while the process does: what a peer sent meanwhile was not heard because we did not listen. */
export interface AwakeClock {
  /** Milliseconds; never set back. */
  monotonic(): number;
  /** To be called every `periodMs`: what a call is late is time in which the loop stood still, or the machine slept. */
  beat(): void;
}

/** @param periodMs what a beat may be late without being taken for a pause, too */
export function createAwakeClock(monotonic: () => number, periodMs: number): AwakeClock {
  let [last, away] = [monotonic(), 0];
  return {
    monotonic: () => monotonic() - away,
    beat: () => {
      const now = monotonic();
      const pause = now - last - periodMs;
      if (pause > periodMs) away += pause;
      last = now;
    },
  };
}
