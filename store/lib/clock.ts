/** The two times of a process. */
export interface Clock {
  /**
   * The wall clock, milliseconds since 1970. It may be set at any moment, forwards or back, so use it only for what is
   * shown and for what outlives the run (records, expiry, ttl, schedules, retention).
   */
  readonly now: () => number;
  /** Milliseconds since some moment of this run; never set. Use it for every duration within the run. */
  readonly monotonic: () => number;
}

/** The only place that reads the machine's wall clock. */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
};
