/**
 * How much work the messages on their way to the disk may bring about once they are there: it is done in the turn of
 * their commit, which everybody waits for. Who would go beyond waits for the next one, in the order of asking.
 */
export interface WorkBudget {
  /** False, and nothing taken, where it has to wait: behind all that do. `cost`: characters of topic filters that are compared. */
  take(cost: number): boolean;
  give(cost: number): void;
  /** Resolves when its turn has come and it has been taken. */
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
  const waiting: Waiting[] = [];
  let taken = 0;

  const fits = (cost: number): boolean => taken === 0 || taken + cost <= max;

  return {
    take: (cost) => {
      if (waiting.length > 0 || !fits(cost)) return false;
      taken += cost;
      return true;
    },
    give: (cost) => {
      taken -= cost;
      // Taken for them: who is called and has no use for it any more gives it back.
      for (let [next] = waiting; next !== undefined && fits(next.cost); [next] = waiting) {
        waiting.shift();
        taken += next.cost;
        next.resolve();
      }
    },
    room: (cost) =>
      new Promise((resolve) => {
        if (waiting.length > 0 || !fits(cost)) {
          waiting.push({ cost, resolve });
          return;
        }
        taken += cost;
        resolve();
      }),
  };
}
