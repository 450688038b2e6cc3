import type { Logger } from "../observability/log.js";

/**
 * Runs a job periodically, never twice at the same time. A failure is logged once, until the job works again.
 */
export function every(
  intervalMs: number,
  name: string,
  log: Logger,
  job: () => Promise<unknown> | unknown,
): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failing = false;
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    try {
      await job();
      failing = false;
    } catch (error) {
      if (!failing) log.warn(`cannot ${name}`, { error });
      failing = true;
    }
    if (!stopped) plan();
  };
  const plan = (): void => {
    timer = setTimeout(() => {
      running = run();
    }, intervalMs);
  };
  plan();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      return running;
    },
  };
}
