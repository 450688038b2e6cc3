import { setTimeout as pause } from "node:timers/promises";
import { StoreError } from "../../store/lib/errors.js";

const waitMs = { first: 200, longest: 10_000 } as const;

/** Tries until the store can do it; the work must bear being done twice. @throws what else it throws, or the abort */
export async function untilServed<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let nextMs: number = waitMs.first; ; nextMs = Math.min(nextMs * 2, waitMs.longest)) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "UNAVAILABLE")) throw error;
      await pause(nextMs, undefined, { signal });
    }
  }
}
