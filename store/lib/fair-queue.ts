import { StoreError } from "./errors.js";
import { createShares } from "./shares.js";

/**
 * Runs works one at a time. Fairness keys take turns, so that a key with many works delays only itself, and a key that
 * has had no turn yet is next.
 */
interface FairQueue {
  /**
   * @throws StoreError UNAVAILABLE if this key, or all keys together, have too much waiting; also later, if the work
   * gives way to one of a key that has none waiting
   */
  run<T>(fairnessKey: string, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  begin(): Promise<void>;
  giveWay(): void;
}

/** The most keys whose turns are remembered until the queue is empty. */
const rememberedMax = 4096;

const tooMany = (): StoreError =>
  new StoreError("UNAVAILABLE", "cannot be done now: too many wait for theirs");

/**
 * A key without works gets a place even in a full queue: the last work of the key with the most waiting gives way, or,
 * if each has only one, that of the key that has had the most turns.
 *
 * @param max works that run or wait; one key alone may have seven eighths of them
 */
export function createFairQueue(max: number): FairQueue {
  const shares = createShares<string>(max);
  /** In order of arrival or of the last turn; no list is empty. */
  const waiting = new Map<string, Waiting[]>();
  /** How many turns each key has had. */
  const turns = new Map<string, number>();
  let isRunning = false;

  /** A key that is new, or comes back, is one turn ahead of those that wait, however many they have had. */
  function countTurns(fairnessKey: string): number {
    let least = Number.POSITIVE_INFINITY;
    for (const one of waiting.keys()) least = Math.min(least, turns.get(one) ?? 0);
    const had = turns.get(fairnessKey) ?? 0;
    return waiting.has(fairnessKey) || least === Number.POSITIVE_INFINITY ? had : Math.max(had, least - 1);
  }

  /** The next work of the key that has had the fewest turns; that key then goes to the end. */
  function next(): Waiting | undefined {
    let fairnessKey: string | undefined;
    for (const one of waiting.keys()) {
      if (fairnessKey === undefined || (turns.get(one) ?? 0) < (turns.get(fairnessKey) ?? 0))
        fairnessKey = one;
    }
    if (fairnessKey === undefined) return undefined;
    const [first, ...others] = waiting.get(fairnessKey) ?? [];
    waiting.delete(fairnessKey);
    if (others.length > 0) waiting.set(fairnessKey, others);
    const had = (turns.get(fairnessKey) ?? 0) + 1;
    turns.delete(fairnessKey);
    turns.set(fairnessKey, had);
    const [oldest] = turns.keys();
    if (turns.size > rememberedMax && oldest !== undefined) turns.delete(oldest);
    return first;
  }

  async function workOff(): Promise<void> {
    isRunning = true;
    for (let work = next(); work !== undefined; work = next()) await work.begin();
    isRunning = false;
    turns.clear();
  }

  /** Makes another key's last work give way to a key that has none; false if no key has more than it. */
  function freePlace(fairnessKey: string): boolean {
    let most: string | undefined;
    const weigh = (one: string): number => (waiting.get(one)?.length ?? 0) * 2 ** 40 + countTurns(one);
    for (const one of waiting.keys()) if (most === undefined || weigh(one) > weigh(most)) most = one;
    if (most === undefined || shares.held(fairnessKey) > 0) return false;
    const theirs = waiting.get(most) ?? [];
    if (theirs.length === 1 && countTurns(most) <= countTurns(fairnessKey)) return false;
    theirs.pop()?.giveWay();
    if (theirs.length === 0) waiting.delete(most);
    return true;
  }

  return {
    run: <T>(fairnessKey: string, work: () => Promise<T>): Promise<T> => {
      if (!shares.take(fairnessKey, 1) && !(freePlace(fairnessKey) && shares.take(fairnessKey, 1)))
        return Promise.reject(tooMany());
      return new Promise<T>((resolve, reject) => {
        const begin = (): Promise<void> =>
          work()
            .then(resolve, reject)
            .finally(() => shares.give(fairnessKey, 1));
        const giveWay = (): void => {
          shares.give(fairnessKey, 1);
          reject(tooMany());
        };
        turns.set(fairnessKey, countTurns(fairnessKey));
        waiting.set(fairnessKey, [...(waiting.get(fairnessKey) ?? []), { begin, giveWay }]);
        if (!isRunning) void workOff();
      });
    },
  };
}
