import type { Change } from "../../../store/metadata/db/changes.js";

/**
 * Coordinates imports and removals. A deleted device's points are removed only once; points that an import still writes
 * for it after that would belong to the next device of that name. So imports look up their series again after a change,
 * and a removal waits for the writes that may not have seen the change.
 */
export interface HistoryGate {
  /** Grows when devices, products or data points of the tenant have changed. */
  generation(tenant: number): number;
  changed(change: Change): void;
  /**
   * Runs one look-up with its write. A removal that begins meanwhile waits for both, so one look-up is enough: points
   * of anything deleted after the look-up are removed after the write.
   */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when every write that began before has ended; later ones look up their series again. */
  settled(): Promise<void>;
}

const entities = new Set(["device", "product", "data_point"]);

export function createHistoryGate(): HistoryGate {
  const running = new Set<Promise<unknown>>();
  /** Counts changes by tenant, and removals, which concern all tenants. */
  const changes = new Map<number, number>();
  let removals = 0;
  return {
    generation: (tenant) => removals + (changes.get(tenant) ?? 0),
    changed: ({ tenant, entity, action }) => {
      if (!entities.has(entity) || (entity === "device" && action === "create")) return;
      changes.set(tenant, (changes.get(tenant) ?? 0) + 1);
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
      removals++;
      await Promise.allSettled([...running]);
    },
  };
}
