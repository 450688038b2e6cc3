import { sleep } from "../../lib/abortable.js";
import { asStoreError, type StoreError } from "../../lib/errors.js";
import { retryDelays } from "../../lib/retry.js";

/** An attempt with less time than this would only hide why the one before it failed. */
const leastTimeMs = 100;

interface Patience {
  /** For all attempts together. */
  readonly timeMs: number;
  /** Ends the attempts early. */
  readonly signal: AbortSignal;
  /** Whether another attempt may succeed. */
  readonly mayPass: (error: StoreError) => boolean;
  /** Called after each failed attempt. */
  readonly onFailure: () => void;
}

/**
 * Tries until it succeeds, fails for good, or its time is over; each attempt gets the milliseconds that are left.
 * @throws StoreError the last attempt's
 */
export async function patiently<T>(patience: Patience, attempt: (timeMs: number) => Promise<T>): Promise<T> {
  const { timeMs, signal, mayPass, onFailure } = patience;
  const deadline = performance.now() + timeMs;
  for (const delays = retryDelays(50, 500); ; ) {
    const delayMs = delays.next().value;
    try {
      return await attempt(deadline - performance.now());
    } catch (error) {
      const failure = asStoreError(error);
      onFailure();
      const isOver = signal.aborted || performance.now() + delayMs + leastTimeMs >= deadline;
      if (isOver || !mayPass(failure)) throw failure;
    }
    await sleep(delayMs, signal);
  }
}
