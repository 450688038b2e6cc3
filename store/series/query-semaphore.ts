/** How many queries run at once, shared fairly by tenants: on connections to InfluxDB, or in reader threads. */
import { StoreError } from "../lib/errors.js";
import { createSemaphore } from "../lib/semaphore.js";

/** The caller, and for how long it wants the answer. */
export interface QueryCaller {
  readonly tenant: number;
  /** Null: until the answer is there. */
  readonly signal: AbortSignal | null;
}

export interface QuerySemaphore {
  /**
   * Asks once it is the caller's turn; the end of the answer admits the next one. Callers of a tenant wait in order,
   * and tenants take turns. @throws StoreError UNAVAILABLE when the caller has cancelled
   */
  answer<T>(caller: QueryCaller, ask: () => AsyncGenerator<T>): AsyncGenerator<T>;
  /** The same for an answer that arrives as a whole. */
  run<T>(caller: QueryCaller, ask: () => Promise<T>): Promise<T>;
}

export const callerCancelled = (): StoreError =>
  new StoreError("UNAVAILABLE", "cannot answer: the asker has left");

/** @param max queries at once; a tenant alone has seven eighths of them */
export function createQuerySemaphore(max: number): QuerySemaphore {
  const semaphore = createSemaphore<number>(max);
  const enter = ({ tenant, signal }: QueryCaller) =>
    semaphore.enter(tenant, 1, { signal, left: callerCancelled });
  const leave = ({ tenant }: QueryCaller) => semaphore.leave(tenant, 1);
  return {
    answer: async function* (caller, ask) {
      await enter(caller);
      try {
        yield* ask();
      } finally {
        leave(caller);
      }
    },
    run: async (caller, ask) => {
      await enter(caller);
      try {
        return await ask();
      } finally {
        leave(caller);
      }
    },
  };
}
