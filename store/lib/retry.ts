/** Retries work that fails while something is away. */
import { setTimeout as delay } from "node:timers/promises";
import { sleep } from "./abortable.js";
import { type BackOffDelays, delayAfter } from "./back-off.js";
import { asError } from "./errors.js";

/** Delays between attempts that go on until one succeeds, milliseconds, as `delayAfter` has them. */
export function* retryDelays(firstMs: number, longestMs: number): Generator<number, never> {
  const delays = { first: firstMs, longest: longestMs };
  for (let failures = 1; ; failures++) yield delayAfter(delays, failures);
}

interface RetryOptions {
  /** Null if nothing ends the attempts early. */
  readonly signal: AbortSignal | null;
  /** Milliseconds between the attempts. */
  readonly delayMs: BackOffDelays;
  /** How many times to try again; if absent, until it succeeds. */
  readonly retriesMax?: number;
  /** Milliseconds for all attempts together; if absent, there is no deadline. */
  readonly timeMs?: number;
  /** Whether an error may pass by itself; any other is thrown. */
  readonly isTransient: (error: unknown) => boolean;
  /** Called after each failed attempt that another follows. */
  readonly onTrouble?: (error: Error) => void;
}

/** An attempt with less time than this would only hide why the one before it failed. */
const attemptMsMin = 100;

/**
 * Tries until the action succeeds. The action must bear being done twice; it gets the milliseconds that are left.
 * @throws any error that is not transient, any error once aborted, and the error of the last attempt
 */
export async function retryUntil<T>(
  action: (leftMs: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { signal, delayMs, retriesMax = Number.POSITIVE_INFINITY, isTransient, onTrouble } = options;
  const deadline = performance.now() + (options.timeMs ?? Number.POSITIVE_INFINITY);
  const delays = retryDelays(delayMs.first, delayMs.longest);
  for (let retries = 0; ; retries++) {
    const { value: ms } = delays.next();
    try {
      return await action(deadline - performance.now());
    } catch (error) {
      const isLast = retries === retriesMax || performance.now() + ms + attemptMsMin >= deadline;
      if (signal?.aborted === true || isLast || !isTransient(error)) throw error;
      onTrouble?.(asError(error));
    }
    await (signal === null ? delay(ms) : sleep(ms, signal));
  }
}
