/** How many questions run at once, shared by tenants: connections to InfluxDB, turns of reader threads. */
import { StoreError } from "../lib/errors.js";
import { createSemaphore } from "../lib/semaphore.js";

/** Who asks, and until when the answer is wanted. */
export interface Asker {
  readonly tenant: number;
  /** Null: until it is there. */
  readonly signal: AbortSignal | null;
}

export interface QuerySemaphore {
  /**
   * The answer, asked for once it is its turn, and whose end lets in the next. What waits goes in order
   * within a tenant, and from tenant to tenant in turn. @throws StoreError UNAVAILABLE when the asker has left
   */
  answer<T>(asker: Asker, ask: () => AsyncGenerator<T>): AsyncGenerator<T>;
  /** The same for an answer that comes whole. */
  run<T>(asker: Asker, ask: () => Promise<T>): Promise<T>;
}

export const hasLeft = (): StoreError => new StoreError("UNAVAILABLE", "cannot answer: the asker has left");

/** @param max questions at once; a tenant alone has seven eighths of them */
export function createQuerySemaphore(max: number): QuerySemaphore {
  const semaphore = createSemaphore<number>(max);
  const enter = ({ tenant, signal }: Asker) => semaphore.enter(tenant, 1, { signal, left: hasLeft });
  const leave = ({ tenant }: Asker) => semaphore.leave(tenant, 1);
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
      await enter(asker);
      try {
        return await ask();
      } finally {
        leave(asker);
      }
    },
  };
}
