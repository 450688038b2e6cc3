/** Waits that an AbortSignal ends. */
import { setMaxListeners } from "node:events";

/**
 * Calls `leave` once the signal is aborted, unless the returned function is called first. Any number of waits may share
 * a signal.
 */
export function onAbort(signal: AbortSignal, leave: () => void): () => void {
  // Node warns of a leak beyond ten listeners; these are removed when their waits end.
  setMaxListeners(0, signal);
  signal.addEventListener("abort", leave, { once: true });
  return () => signal.removeEventListener("abort", leave);
}

/** Resolves once `start`'s argument is called or the signal is aborted, whichever comes first. */
export function waitUntil(signal: AbortSignal, start: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      stopListening();
      resolve();
    };
    const stopListening = onAbort(signal, wake);
    start(wake);
    if (signal.aborted) wake();
  });
}

/** Resolves after `ms` milliseconds, or once the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const slept = waitUntil(signal, (wake) => {
    timer = setTimeout(wake, ms);
  });
  return slept.finally(() => clearTimeout(timer));
}

/** The result of `work`, or undefined if the signal is aborted first; the abort does not end the work itself. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    work.then(resolve, reject).finally(onAbort(signal, leave));
    if (signal.aborted) leave();
  });
}

/** The result of `work`, whose signal is aborted with `signal`, or after `ms` milliseconds: then `isLate()`. */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal, isLate: () => boolean) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  // Not AbortSignal.timeout, which lets the process end before it fires.
  const timer = setTimeout(() => late.abort(), ms);
  try {
    return await work(AbortSignal.any([signal, late.signal]), () => late.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
}
