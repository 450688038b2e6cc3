/** Waits that an AbortSignal ends, and attempts that go on until one succeeds. */
import { asError } from "./errors.js";

/** Resolves once `start`'s argument is called or the signal is aborted, whichever comes first. */
export function waitUntil(signal: AbortSignal, start: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      signal.removeEventListener("abort", wake);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
    start(wake);
    if (signal.aborted) wake();
  });
}

/** Resolves after so long, or once the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const slept = waitUntil(signal, (wake) => {
    timer = setTimeout(wake, ms);
  });
  return slept.finally(() => clearTimeout(timer));
}

/** What `work` comes to; undefined if the signal is aborted first, which does not end the work itself. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    if (signal.aborted) leave();
  });
}

interface RetryOptions {
  readonly signal: AbortSignal;
  /** Milliseconds between the attempts: each delay is twice the one before, up to the longest. */
  readonly delayMs: { readonly first: number; readonly longest: number };
  /** Whether an error may pass; any other is thrown. */
  readonly isTransient: (error: unknown) => boolean;
  /** Told of each attempt that failed and is followed by another. */
  readonly onTrouble: (error: Error) => void;
}

/** Tries until the action succeeds. @throws what is not transient, and whatever it fails with once aborted */
export async function retry<T>(action: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { signal, delayMs, isTransient, onTrouble } = options;
  for (let ms = delayMs.first; ; ms = Math.min(ms * 2, delayMs.longest)) {
    try {
      return await action();
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error;
      onTrouble(asError(error));
    }
    await sleep(ms, signal);
  }
}
