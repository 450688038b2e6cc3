/** Waits that an AbortSignal ends. */

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
