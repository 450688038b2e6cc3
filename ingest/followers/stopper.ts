/** Ends a loop that waits: every wait of a stopped loop returns at once. */
export interface Stopper {
  readonly stopped: boolean;
  stop(): void;
  /** Ends the present waits without stopping. */
  nudge(): void;
  /** Waits until `start`'s argument is called, or the loop is stopped. */
  wait(start: (wake: () => void) => void): Promise<void>;
}

export function createStopper(): Stopper {
  const wakes = new Set<() => void>();
  let stopped = false;
  return {
    get stopped() {
      return stopped;
    },
    stop: () => {
      stopped = true;
      for (const wake of wakes) wake();
    },
    nudge: () => {
      for (const wake of wakes) wake();
    },
    wait: (start) =>
      new Promise((resolve) => {
        const wake = (): void => {
          wakes.delete(wake);
          resolve();
        };
        wakes.add(wake);
        start(wake);
        if (stopped) wake();
      }),
  };
}
