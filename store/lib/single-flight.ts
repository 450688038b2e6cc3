/** Work of which only one run at a time makes sense: callers that ask meanwhile share it. */
interface SingleFlight<T, Args extends readonly unknown[] = []> {
  /** Begins a run, or joins the one under way, whose arguments stand. */
  run(...args: Args): Promise<T>;
  /** The run under way, or null. */
  readonly running: Promise<T> | null;
}

/** A call that joins a run gets its result. */
export function singleFlight<T, Args extends readonly unknown[]>(
  work: (...args: Args) => Promise<T>,
): SingleFlight<T, Args> {
  let running: Promise<T> | null = null;
  return {
    run: (...args) => {
      running ??= work(...args).finally(() => {
        running = null;
      });
      return running;
    },
    get running() {
      return running;
    },
  };
}

/**
 * For work that looks for something to do: a call that joins a run makes it look once more before it resolves, so that
 * nothing from before the call is overlooked.
 */
export function repeatedFlight(work: () => Promise<void>): SingleFlight<void> {
  let running: Promise<void> | null = null;
  let again = false;
  async function untilQuiet(): Promise<void> {
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      // Cleared in the same turn as the last look at `again`: a call a moment later begins a run of its own.
      running = null;
    }
  }
  return {
    run: () => {
      again = true;
      running ??= untilQuiet();
      return running;
    },
    get running() {
      return running;
    },
  };
}
