import { StoreError } from "../../store/lib/errors.js";
import { retry, retryDelays } from "../../store/lib/retry.js";

const longestMs = 10_000;

/**
 * Tries until the store can do it, first again after so many milliseconds; the work must bear being done twice.
 * @throws what else it throws, or the abort
 */
export const untilServed = <T>(signal: AbortSignal, work: () => Promise<T>, firstMs = 200): Promise<T> =>
  retry(work, {
    delays: () => retryDelays(firstMs, longestMs),
    isPassing: (error) => error instanceof StoreError && error.code === "UNAVAILABLE",
    signal,
  });
