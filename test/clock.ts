/** A clock that a test sets. */
import { type Clock, systemClock } from "../store/clock.js";

export interface SetClock extends Clock {
  /** Sets the wall clock by so many milliseconds; nothing else moves. */
  step(ms: number): void;
}

/** Runs as the machine's does until it is set. */
export function createSetClock(): SetClock {
  let aheadMs = 0;
  return {
    now: () => systemClock.now() + aheadMs,
    monotonic: systemClock.monotonic,
    step: (ms) => {
      aheadMs += ms;
    },
  };
}

/** Stands still until it is moved. */
export interface StillClock extends SetClock {
  /** Lets time pass on both clocks. */
  pass(ms: number): void;
}

export function createStillClock(wall = 1_800_000_000_000): StillClock {
  let [now, monotonic] = [wall, 1000];
  return {
    now: () => now,
    monotonic: () => monotonic,
    step: (ms) => {
      now += ms;
    },
    pass: (ms) => {
      now += ms;
      monotonic += ms;
    },
  };
}
