import type { Change } from "../../store/changes.js";

/**
 * Stands between imports and removals. A deleted device's points are removed once; what an import still writes for
 * it afterwards would belong to the next device of that name. So imports look their series up anew when something
 * has changed, and a removal waits for the writes that may not have seen the change.
 */
export interface HistoryGate {
  /** Grows when devices, products or data points have changed. */
  readonly generation: number;
  changed(change: Change): void;
  /** Runs one look and write; a removal that begins meanwhile waits for its end. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when every write that began before has ended; later ones look anew. */
  settled(): Promise<void>;
}

const entities = new Set(["device", "product", "data_point"]);

export function createHistoryGate(): HistoryGate {
  const running = new Set<Promise<unknown>>();
  let generation = 0;
  return {
    get generation() {
      return generation;
    },
    changed: ({ entity, action }) => {
      if (entities.has(entity) && !(entity === "device" && action === "create")) generation++;
    },
    run: async (work) => {
      const job = work();
      running.add(job);
      try {
        return await job;
      } finally {
        running.delete(job);
      }
    },
    settled: async () => {
      generation++;
      await Promise.allSettled([...running]);
    },
  };
}
