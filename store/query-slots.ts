/** Places for the questions that run at once, shared by tenants: connections to InfluxDB, turns of reader threads. */
import { StoreError } from "./errors.js";
import { createShares } from "./shares.js";

/** Who asks, and until when the answer is wanted. */
export interface Asker {
  readonly tenant: number;
  /** Null: until it is there. */
  readonly signal: AbortSignal | null;
}

export interface QuerySlots {
  /**
   * The answer, asked for once its tenant has a place, which is given back with its end. What waits goes in order
   * within a tenant, and from tenant to tenant in turn. @throws StoreError UNAVAILABLE when the asker has left
   */
  answer<T>(asker: Asker, ask: () => AsyncGenerator<T>): AsyncGenerator<T>;
  /** The same for an answer that comes whole. */
  run<T>(asker: Asker, ask: () => Promise<T>): Promise<T>;
}

export const hasLeft = (): StoreError => new StoreError("UNAVAILABLE", "cannot answer: the asker has left");

/** @param max questions at once; a tenant alone has seven eighths of them */
export function createQuerySlots(max: number): QuerySlots {
  const shares = createShares<number>(max);
  /** By tenant, whose turn is next first; none is empty. */
  const waiting = new Map<number, Set<() => void>>();

  function wait({ tenant, signal }: Asker): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = waiting.get(tenant) ?? new Set();
      const begin = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        queue.delete(begin);
        if (queue.size === 0 && waiting.get(tenant) === queue) waiting.delete(tenant);
        reject(hasLeft());
      };
      queue.add(begin);
      waiting.set(tenant, queue);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Lets in who waits as far as shares allow; a tenant that was served goes behind the others. */
  function pump(): void {
    for (let served = true; served; ) {
      served = false;
      for (const [tenant, queue] of [...waiting]) {
        const [begin] = queue;
        if (begin === undefined || !shares.take(tenant, 1)) continue;
        served = true;
        queue.delete(begin);
        waiting.delete(tenant);
        if (queue.size > 0) waiting.set(tenant, queue);
        begin();
      }
    }
  }

  /** Null where there is a place at once. */
  function enter(asker: Asker): Promise<void> | null {
    const { tenant, signal } = asker;
    if (signal?.aborted === true) throw hasLeft();
    return waiting.has(tenant) || !shares.take(tenant, 1) ? wait(asker) : null;
  }

  function leave({ tenant }: Asker): void {
    shares.give(tenant, 1);
    pump();
  }

  return {
    answer: async function* (asker, ask) {
      await enter(asker);
      try {
        yield* ask();
      } finally {
        leave(asker);
      }
    },
    run: async (asker, ask) => {
      const place = enter(asker);
      if (place !== null) await place;
      try {
        return await ask();
      } finally {
        leave(asker);
      }
    },
  };
}
