/** Milliseconds for which a call is made before it is timed: code that is not compiled yet takes several times as long. */
const warmUpMs = 2000;

/** Calls at least once, and until most of what is called has been compiled. */
export async function warmUp(action: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + warmUpMs;
  do await action();
  while (performance.now() < end);
}

/** Milliseconds that the action takes. */
export async function timed(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return performance.now() - started;
}
