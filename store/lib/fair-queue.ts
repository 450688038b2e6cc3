import { StoreError } from "./errors.js";
import { createShares } from "./shares.js";

/**
 * Works one at a time. Those who ask take turns, so that one who asks for many holds up itself alone, and whoever has
 * had no turn yet is next.
 */
interface FairQueue {
  /**
   * @throws StoreError UNAVAILABLE where this payer, or everybody together, has too much waiting; also later, where
   * another who has none waiting takes its room
   */
  run<T>(payer: string, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  begin(): Promise<void>;
  giveWay(): void;
}

/** Payers whose turns are remembered while there is anything to do. */
const rememberedMax = 4096;

const tooMany = (): StoreError =>
  new StoreError("UNAVAILABLE", "cannot be done now: too many wait for theirs");

/**
 * Whoever has nothing waiting finds room also where none is left: by the last work of who has most waiting, or, of
 * those with one each, of who has had most turns.
 *
 * @param max works that are under way or wait; one payer alone may have seven eighths of it
 */
export function createFairQueue(max: number): FairQueue {
  const shares = createShares<string>(max);
  /** In the order in which they asked, or had their last turn; no list is empty. */
  const waiting = new Map<string, Waiting[]>();
  /** Turns that payers have had. */
  const turns = new Map<string, number>();
  let isRunning = false;

  /** Whoever comes, or comes back, is one turn ahead of those who wait, however many they have had. */
  function turnsOf(payer: string): number {
    let least = Number.POSITIVE_INFINITY;
    for (const one of waiting.keys()) least = Math.min(least, turns.get(one) ?? 0);
    const had = turns.get(payer) ?? 0;
    return waiting.has(payer) || least === Number.POSITIVE_INFINITY ? had : Math.max(had, least - 1);
  }

  /** The next work of who has had fewest turns, who then goes to the end. */
  function next(): Waiting | undefined {
    let payer: string | undefined;
    for (const one of waiting.keys()) {
      if (payer === undefined || (turns.get(one) ?? 0) < (turns.get(payer) ?? 0)) payer = one;
    }
    if (payer === undefined) return undefined;
    const [first, ...others] = waiting.get(payer) ?? [];
    waiting.delete(payer);
    if (others.length > 0) waiting.set(payer, others);
    const had = (turns.get(payer) ?? 0) + 1;
    turns.delete(payer);
    turns.set(payer, had);
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

  /** Has another's last work give way to one who has none; false where nobody has more of anything. */
  function makeRoom(payer: string): boolean {
    let most: string | undefined;
    const weigh = (one: string): number => (waiting.get(one)?.length ?? 0) * 2 ** 40 + turnsOf(one);
    for (const one of waiting.keys()) if (most === undefined || weigh(one) > weigh(most)) most = one;
    if (most === undefined || shares.held(payer) > 0) return false;
    const theirs = waiting.get(most) ?? [];
    if (theirs.length === 1 && turnsOf(most) <= turnsOf(payer)) return false;
    theirs.pop()?.giveWay();
    if (theirs.length === 0) waiting.delete(most);
    return true;
  }

  return {
    run: <T>(payer: string, work: () => Promise<T>): Promise<T> => {
      if (!shares.take(payer, 1) && !(makeRoom(payer) && shares.take(payer, 1)))
        return Promise.reject(tooMany());
      return new Promise<T>((resolve, reject) => {
        const begin = (): Promise<void> =>
          work()
            .then(resolve, reject)
            .finally(() => shares.give(payer, 1));
        const giveWay = (): void => {
          shares.give(payer, 1);
          reject(tooMany());
        };
        turns.set(payer, turnsOf(payer));
        waiting.set(payer, [...(waiting.get(payer) ?? []), { begin, giveWay }]);
        if (!isRunning) void workOff();
      });
    },
  };
}
