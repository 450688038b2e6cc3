import { asStoreError, type StoreError } from "../../lib/errors.js";
import { retryUntil } from "../../lib/retry.js";

interface CallRetries {
  /** For all attempts together. */
  readonly timeMs: number;
  /** Ends the attempts early. */
  readonly signal: AbortSignal;
  /** Whether another attempt may succeed. */
  readonly mayPass: (error: StoreError) => boolean;
  /** Called after each failed attempt. */
  readonly onFailure?: () => void;
}

const delayMs = { first: 50, longest: 500 } as const;

/**
 * Tries until the call succeeds, fails for good, or its time is over; each attempt gets the milliseconds that are left.
 * @throws StoreError the last attempt's
 */
export function retryCall<T>(
  { timeMs, signal, mayPass, onFailure }: CallRetries,
  attempt: (timeMs: number) => Promise<T>,
): Promise<T> {
  const attemptNow = async (leftMs: number): Promise<T> => {
    try {
      return await attempt(leftMs);
    } catch (error) {
      onFailure?.();
      throw asStoreError(error);
    }
  };
  return retryUntil(attemptNow, {
    timeMs,
    signal,
    delayMs,
    isTransient: (error) => mayPass(asStoreError(error)),
  });
}
