/** The two times of a process. */
export interface Clock {
  /**
   * The wall clock, milliseconds since 1970. It may be set at any moment, forwards and back: only for what is shown,
   * and for what outlives the run (records, expiry, ttl, schedules, retention).
   */
  readonly now: () => number;
  /** Milliseconds since some moment of this run; never set. For every duration within the run. */
  readonly monotonic: () => number;
}

/** The only place that reads the wall clock of the machine. */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
};
