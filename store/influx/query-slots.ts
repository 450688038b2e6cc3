/** Places for the questions that run at once, shared by tenants: writes keep connections of their own. */
import { StoreError } from "../errors.js";
import { createPlaces } from "../places.js";

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
}

export const hasLeft = (): StoreError => new StoreError("UNAVAILABLE", "cannot answer: the asker has left");

/** @param max questions at once; a tenant alone has seven eighths of them */
export function createQuerySlots(max: number): QuerySlots {
  const places = createPlaces<number>(max);
  return {
    answer: async function* ({ tenant, signal }, ask) {
      await places.enter(tenant, 1, { signal, left: hasLeft });
      try {
        yield* ask();
      } finally {
        places.leave(tenant, 1);
      }
    },
  };
}
