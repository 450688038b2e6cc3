import { createShares } from "../../../store/lib/shares.js";

/**
 * Lets a bounded number in at once. Of one address, seven eighths of them at most; those that wait are let in
 * address by address, each address in the order of its coming.
 */
interface HandshakeSemaphore<T> {
  /** Whether it is let in now. */
  enter(one: T, address: string): boolean;
  /** Whether it was in or still waiting; one that never came is passed over. */
  leave(one: T): void;
  /** How many of an address are in. */
  held(address: string): number;
  /** How few the waiting address with the fewest has inside; infinite if none waits. */
  readonly leastHeld: number;
  readonly inside: number;
  readonly waiting: number;
}

export function createHandshakeSemaphore<T>(
  insideMax: number,
  begin: (one: T) => void,
): HandshakeSemaphore<T> {
  const shares = createShares<string>(insideMax);
  const inside = new Map<T, string>();
  /** Addresses in the order of their turns. */
  const waiting = new Map<string, Set<T>>();
  const waitsAt = new Map<T, string>();

  function letIn(one: T, address: string): boolean {
    if (!shares.take(address, 1)) return false;
    inside.set(one, address);
    begin(one);
    return true;
  }

  function wait(one: T, address: string): void {
    waitsAt.set(one, address);
    const queue = waiting.get(address);
    if (queue === undefined) waiting.set(address, new Set([one]));
    else queue.add(one);
  }

  function waitNoMore(one: T, address: string): void {
    waitsAt.delete(one);
    const queue = waiting.get(address);
    queue?.delete(one);
    if (queue?.size === 0) waiting.delete(address);
  }

  /**
   * Lets in one of the first address whose share has room, which is then called after the others. False if there is
   * none.
   */
  function letNextIn(): boolean {
    for (const [address, queue] of waiting) {
      const [one] = queue;
      if (one === undefined || !letIn(one, address)) continue;
      waitNoMore(one, address);
      if (waiting.delete(address)) waiting.set(address, queue);
      return true;
    }
    return false;
  }

  return {
    enter: (one, address) => {
      // A later one waits for those of its own address.
      if (!waiting.has(address) && letIn(one, address)) return true;
      wait(one, address);
      return false;
    },
    leave: (one) => {
      const waited = waitsAt.get(one);
      if (waited !== undefined) waitNoMore(one, waited);
      const address = inside.get(one);
      if (address === undefined) return;
      inside.delete(one);
      shares.give(address, 1);
      while (letNextIn());
    },
    held: shares.held,
    get leastHeld() {
      let least = Number.POSITIVE_INFINITY;
      for (const address of waiting.keys()) least = Math.min(least, shares.held(address));
      return least;
    },
    get inside() {
      return inside.size;
    },
    get waiting() {
      return waitsAt.size;
    },
  };
}
