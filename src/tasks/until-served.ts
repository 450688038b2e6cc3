import { isUnavailable } from "../../store/lib/errors.js";
import { retryUntil } from "../../store/lib/retry.js";

const longestMs = 10_000;

/**
 * Retries until the store is available, the first time after `firstMs`; the work must be safe to repeat.
 * @throws any other error of the work, or the abort
 */
export async function untilServed<T>(signal: AbortSignal, work: () => Promise<T>, firstMs = 200): Promise<T> {
  const attempt = (): Promise<T> => {
    signal.throwIfAborted();
    return work();
  };
  try {
    return await retryUntil(attempt, {
      signal,
      delayMs: { first: firstMs, longest: longestMs },
      isTransient: isUnavailable,
    });
  } catch (error) {
    if (isUnavailable(error)) signal.throwIfAborted();
    throw error;
  }
}
