/** Work that fails while something is away, and is tried again. */
import { sleep } from "./abortable.js";
import { asError } from "./errors.js";
import { pause } from "./turns.js";

/**
 * Delays between the attempts of what must succeed in the end, milliseconds: each twice the one before, up to the
 * longest.
 */
export function* retryDelays(firstMs: number, longestMs: number): Generator<number, never> {
  for (let delayMs = firstMs; ; delayMs = Math.min(delayMs * 2, longestMs)) yield delayMs;
}

interface RetryOptions {
  /** Null: nothing ends it early. */
  readonly signal: AbortSignal | null;
  /** Milliseconds between the attempts: each delay is twice the one before, up to the longest. */
  readonly delayMs: { readonly first: number; readonly longest: number };
  /** So often it is tried again; without it, until it succeeds. */
  readonly retriesMax?: number;
  /** Whether an error may pass; any other is thrown. */
  readonly isTransient: (error: unknown) => boolean;
  /** Told of each attempt that failed and is followed by another. */
  readonly onTrouble?: (error: Error) => void;
}

/**
 * Tries until the action succeeds, which must bear being done twice.
 * @throws what is not transient, whatever it fails with once aborted, and what the last attempt fails with
 */
export async function retry<T>(action: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { signal, delayMs, retriesMax = Number.POSITIVE_INFINITY, isTransient, onTrouble } = options;
  const delays = retryDelays(delayMs.first, delayMs.longest);
  for (let retries = 0; ; retries++) {
    try {
      return await action();
    } catch (error) {
      if (signal?.aborted === true || retries === retriesMax || !isTransient(error)) throw error;
      onTrouble?.(asError(error));
    }
    const { value: ms } = delays.next();
    await (signal === null ? pause(ms) : sleep(ms, signal));
  }
}
