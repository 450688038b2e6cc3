import { StoreError } from "./errors.js";
import { createShares } from "./shares.js";

/** Works one at a time. Those who ask take turns, so that one who asks for many holds up itself alone. */
export interface FairQueue {
  /** @throws StoreError UNAVAILABLE where this payer, or everybody together, has too much waiting */
  run<T>(payer: string, work: () => Promise<T>): Promise<T>;
}

/** @param max works that are under way or wait; one payer alone may have seven eighths of it */
export function createFairQueue(max: number): FairQueue {
  const places = createShares<string>(max);
  /** In the order of their turns. */
  const waiting = new Map<string, (() => Promise<void>)[]>();
  let isRunning = false;

  /** The next work of whoever's turn it is, who then goes behind the others. */
  function next(): (() => Promise<void>) | undefined {
    for (const [payer, [first, ...others]] of waiting) {
      waiting.delete(payer);
      if (others.length > 0) waiting.set(payer, others);
      return first;
    }
    return undefined;
  }

  async function workOff(): Promise<void> {
    isRunning = true;
    for (let work = next(); work !== undefined; work = next()) await work();
    isRunning = false;
  }

  return {
    run: <T>(payer: string, work: () => Promise<T>): Promise<T> => {
      if (!places.take(payer, 1)) {
        return Promise.reject(new StoreError("UNAVAILABLE", "cannot be done now: too many wait for theirs"));
      }
      return new Promise<T>((resolve, reject) => {
        const turn = (): Promise<void> =>
          work()
            .then(resolve, reject)
            .finally(() => places.give(payer, 1));
        waiting.set(payer, [...(waiting.get(payer) ?? []), turn]);
        if (!isRunning) void workOff();
      });
    },
  };
}
