import { createRoundRobin } from "../../../store/lib/round-robin.js";
import { createShares } from "../../../store/lib/shares.js";

/**
 * Lets a bounded number in at once. Of one address, seven eighths of them at most; those that wait are let in
 * address by address, each address in the order of its coming.
 */
interface HandshakeSemaphore<T> {
  /** Whether it is let in now. */
  enter(one: T): boolean;
  /** One that was in or still waiting leaves; one that never came is passed over. */
  leave(one: T): void;
  /** How many of an address are in. */
  held(address: string): number;
  /** How few the waiting address with the fewest has inside; infinite if none waits. */
  readonly leastHeld: number;
  readonly inside: number;
  readonly waiting: number;
}

/** Unlike the semaphore of `store/lib`, it lets in at once, in the turn in which another leaves. */
export function createHandshakeSemaphore<T extends { readonly address: string }>(
  insideMax: number,
  begin: (one: T) => void,
): HandshakeSemaphore<T> {
  const shares = createShares<string>(insideMax);
  const inside = new Set<T>();
  const waiting = createRoundRobin<string, T>();

  function letIn(one: T): void {
    inside.add(one);
    begin(one);
  }

  return {
    enter: (one) => {
      // A later one waits for those of its own address.
      if (!waiting.has(one.address) && shares.take(one.address, 1)) {
        letIn(one);
        return true;
      }
      waiting.push(one.address, one);
      return false;
    },
    leave: (one) => {
      waiting.remove(one.address, one);
      if (!inside.delete(one)) return;
      shares.give(one.address, 1);
      for (const [address, first] of waiting.firsts()) {
        if (!shares.take(address, 1)) continue;
        waiting.serve(address);
        letIn(first);
      }
    },
    held: shares.held,
    get leastHeld() {
      let least = Number.POSITIVE_INFINITY;
      for (const [address] of waiting.firsts()) least = Math.min(least, shares.held(address));
      return least;
    },
    get inside() {
      return inside.size;
    },
    get waiting() {
      return waiting.size;
    },
  };
}
