/** What the writer does while nobody asks: one short step after another, each under the lock of the files. */

import { setTimeout as delay } from "node:timers/promises";
import type { Lock } from "../../lib/scheduling.js";

const idleMs = 30_000;
/** Housekeeping rests three times as long as it works. */
const restFactor = 3;
const restMsMax = 1000;

/** True while there is more to do. */
type Step = () => Promise<boolean>;

interface Housekeeping {
  /** There may be something to do. */
  wake(): void;
  /** Resolves after `closing`, once the last step has ended. */
  readonly ended: Promise<void>;
}

/** One step under the lock, unless `closing` is aborted; then a rest that leaves disk and thread to others. */
export async function stepThenRest(lock: Lock, closing: AbortSignal, step: Step): Promise<boolean> {
  let workedMs = 0;
  const more = await lock(async () => {
    const began = performance.now();
    const result = !closing.aborted && (await step());
    workedMs = performance.now() - began;
    return result;
  });
  if (more) await delay(Math.min(restMsMax, workedMs * restFactor));
  return more;
}

/**
 * @param resume completes what an earlier run, or a failed try, has left half done
 * @param steps the first one that has something to do runs next
 * @param repair mends what made a step fail; false where it can only be tried again later, as on a full disk
 */
export function startHousekeeping({
  lock,
  closing,
  resume,
  steps,
  repair,
}: {
  lock: Lock;
  closing: AbortSignal;
  resume: () => Promise<void>;
  steps: readonly Step[];
  repair: (error: unknown) => Promise<boolean>;
}): Housekeeping {
  let wake: () => void = () => undefined;
  closing.addEventListener("abort", () => wake(), { once: true });

  async function idle(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, idleMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (closing.aborted) wake();
    });
  }

  async function stepOfAny(): Promise<boolean> {
    for (const step of steps) if (await stepThenRest(lock, closing, step)) return true;
    return false;
  }

  async function work(): Promise<void> {
    await resume();
    while (!closing.aborted) if (!(await stepOfAny())) await idle();
  }

  async function workAlways(): Promise<void> {
    while (!closing.aborted) {
      await work().catch(async (error: unknown) => {
        if (!(await repair(error).catch(() => false))) await idle();
      });
    }
  }

  return { wake: () => wake(), ended: workAlways() };
}
