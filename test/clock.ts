/** A clock that a test sets. */
import { type Clock, systemClock } from "../store/lib/clock.js";

export interface SetClock extends Clock {
  /** Sets the wall clock by so many milliseconds; nothing else moves. */
  step(ms: number): void;
  /** Lets time pass on both clocks. */
  pass(ms: number): void;
}

/** Runs as the machine's does until it is set. */
export function createSetClock(): SetClock {
  let [wallMs, monotonicMs] = [0, 0];
  return {
    now: () => systemClock.now() + wallMs,
    monotonic: () => systemClock.monotonic() + monotonicMs,
    step: (ms) => {
      wallMs += ms;
    },
    pass: (ms) => {
      wallMs += ms;
      monotonicMs += ms;
    },
  };
}

/** Stands still until it is moved. */
export function createStillClock(wall = 1_800_000_000_000): SetClock {
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
