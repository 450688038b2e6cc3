/** SIGTERM and SIGINT, caught from the first moment on: one that comes during a start is answered once it is done. */
export interface StopSignals {
  /** Calls `stop` at the first signal, also one that has come already; a second one ends the process at once. */
  onStop(stop: (signal: NodeJS.Signals) => void): void;
}

export function catchStopSignals(): StopSignals {
  let asked: NodeJS.Signals | null = null;
  let stop: ((signal: NodeJS.Signals) => void) | null = null;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (asked !== null) process.exit(1);
      asked = signal;
      stop?.(signal);
    });
  }
  return {
    onStop: (given) => {
      stop = given;
      if (asked !== null) given(asked);
    },
  };
}
