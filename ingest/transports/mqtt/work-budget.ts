/**
 * How much work the messages on their way to the disk may bring about once they are there: it is done in the turn of
 * their commit, which everybody waits for. Who would go beyond waits for the next one, in the order of asking.
 */
export interface WorkBudget {
  /** False, and nothing taken, where it has to wait. `cost`: characters of topic filters that are compared. */
  take(cost: number): boolean;
  give(cost: number): void;
  /** Resolves when there may be room for it. */
  room(cost: number): Promise<void>;
}

interface Waiting {
  readonly cost: number;
  readonly resolve: () => void;
}

/** Some two milliseconds. One that costs more by itself goes alone. */
export const workMax = 512 * 1024;
/** Costs less than the message itself: nobody counts it. */
export const lightWorkMax = 4096;

export function createWorkBudget(max = workMax): WorkBudget {
  let waiting: Waiting[] = [];
  let taken = 0;

  const fits = (cost: number): boolean => taken === 0 || taken + cost <= max;

  return {
    take: (cost) => {
      if (!fits(cost)) return false;
      taken += cost;
      return true;
    },
    give: (cost) => {
      taken -= cost;
      let called = 0;
      let free = max - taken;
      for (const { cost: wanted, resolve } of waiting) {
        if (wanted > free && (called > 0 || taken > 0)) break;
        free -= wanted;
        called++;
        resolve();
      }
      if (called > 0) waiting = waiting.slice(called);
    },
    room: (cost) =>
      fits(cost) && waiting.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ cost, resolve });
          }),
  };
}
