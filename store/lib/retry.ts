/** Work that fails while something is away, and is tried again. */

import { pause } from "./turns.js";

/** Delays between the attempts of what must succeed in the end, milliseconds: each twice the one before, up to the longest. */
export function* retryDelays(firstMs: number, longestMs: number): Generator<number, never> {
  for (let delayMs = firstMs; ; delayMs = Math.min(delayMs * 2, longestMs)) yield delayMs;
}

/** The same delay each time, so many times. */
export function* evenDelays(delayMs: number, times: number): Generator<number, void> {
  for (let n = 0; n < times; n++) yield delayMs;
}

interface Retrying {
  /** Begun with the first failure; after the last delay the work is tried once more. */
  readonly delays: () => Iterator<number, unknown, unknown>;
  /** Whether it may pass by itself; any other error is thrown on. */
  readonly isPassing: (error: unknown) => boolean;
  readonly signal?: AbortSignal;
}

/**
 * The work must bear being done twice.
 * @throws what the last attempt throws, or the abort
 */
export async function retry<T>(work: () => Promise<T>, { delays, isPassing, signal }: Retrying): Promise<T> {
  let waits: Iterator<number, unknown, unknown> | undefined;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error)) throw error;
      waits ??= delays();
      const { value, done } = waits.next();
      if (done === true) throw error;
      await pause(value, signal);
    }
  }
}
