/**
 * A counting semaphore whose holders share its bound (shares.ts), with a queue of those that wait for their part of it.
 */
import { onAbort } from "./abortable.js";
import { createRoundRobin } from "./round-robin.js";
import { createShares } from "./shares.js";

export interface Semaphore<Holder> {
  /**
   * Takes `amount` at once. Returns false, with nothing taken, if there is not enough capacity or other works of the
   * holder wait for theirs.
   */
  tryEnter(holder: Holder, amount: number): boolean;
  /** The same for a holder that already has a part; goes ahead of those that wait. */
  tryGrow(holder: Holder, amount: number): boolean;
  /** Takes `amount` whatever the share. */
  force(holder: Holder, amount: number): void;
  /**
   * Resolves once `amount` is taken: in order within a holder, in turns between holders. If the signal is aborted
   * before that, rejects with `left()` and takes nothing.
   */
  enter(
    holder: Holder,
    amount: number,
    stay: { readonly signal: AbortSignal | null; readonly left: () => Error },
  ): Promise<void>;
  /** Gives back what was taken, and lets in those that wait. */
  leave(holder: Holder, amount: number): void;
  /** The amount taken. */
  readonly total: number;
}

interface Waiting {
  readonly amount: number;
  readonly begin: () => void;
}

/** @param max how much may be taken at once; a holder alone may have seven eighths of it */
export function createSemaphore<Holder>(max: number): Semaphore<Holder> {
  const shares = createShares<Holder>(max);
  const waiting = createRoundRobin<Holder, Waiting>();

  function wait(
    holder: Holder,
    amount: number,
    signal: AbortSignal | null,
    left: () => Error,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let stopListening = (): void => undefined;
      const begin = (): void => {
        stopListening();
        resolve();
      };
      const one = { amount, begin };
      const leave = (): void => {
        waiting.remove(holder, one);
        reject(left());
        // It may have held up a smaller one.
        pump();
      };
      waiting.push(holder, one);
      if (signal !== null) stopListening = onAbort(signal, leave);
    });
  }

  /** Lets in those that wait as far as shares allow; a holder that was served goes to the end. */
  function pump(): void {
    // A holder that found too little capacity finds no more later in the round: free capacity only shrinks.
    for (const [holder, one] of waiting.firsts()) {
      if (!shares.take(holder, one.amount)) continue;
      waiting.serve(holder);
      one.begin();
    }
  }

  const tryEnter = (holder: Holder, amount: number): boolean =>
    !waiting.has(holder) && shares.take(holder, amount);

  return {
    tryEnter,
    tryGrow: shares.take,
    force: shares.force,
    enter: async (holder, amount, { signal, left }) => {
      if (signal?.aborted === true) throw left();
      if (!tryEnter(holder, amount)) await wait(holder, amount, signal, left);
    },
    leave: (holder, amount) => {
      shares.give(holder, amount);
      if (waiting.size > 0) pump();
    },
    get total() {
      return shares.total;
    },
  };
}
