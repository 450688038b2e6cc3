/** Retries work that fails while something is away. */
import { sleep } from "./abortable.js";
import { asError } from "./errors.js";
import { pause } from "./turns.js";

/**
 * Delays between attempts that go on until one succeeds, milliseconds: each twice the one before, up to the longest.
 */
export function* retryDelays(firstMs: number, longestMs: number): Generator<number, never> {
  for (let delayMs = firstMs; ; delayMs = Math.min(delayMs * 2, longestMs)) yield delayMs;
}

interface RetryOptions {
  /** Null if nothing ends the attempts early. */
  readonly signal: AbortSignal | null;
  /** Milliseconds between the attempts: each delay is twice the one before, up to the longest. */
  readonly delayMs: { readonly first: number; readonly longest: number };
  /** How many times to try again; if absent, until it succeeds. */
  readonly retriesMax?: number;
  /** Whether an error may pass by itself; any other is thrown. */
  readonly isTransient: (error: unknown) => boolean;
  /** Called after each failed attempt that another follows. */
  readonly onTrouble?: (error: Error) => void;
}

/**
 * Tries until the action succeeds. The action must bear being done twice.
 * @throws any error that is not transient, any error once aborted, and the error of the last attempt
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
