import { setTimeout as pause } from "node:timers/promises";
import { StoreError } from "../../store/lib/errors.js";
import { retryDelays } from "../../store/lib/retry-delays.js";

const longestMs = 10_000;

/**
 * Retries until the store is available, the first time after `firstMs`; the work must be safe to repeat.
 * @throws what else it throws, or the abort
 */
export async function untilServed<T>(signal: AbortSignal, work: () => Promise<T>, firstMs = 200): Promise<T> {
  const delays = retryDelays(firstMs, longestMs);
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "UNAVAILABLE")) throw error;
      await pause(delays.next().value, undefined, { signal });
    }
  }
}
