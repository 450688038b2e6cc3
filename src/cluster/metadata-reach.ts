/** Tracks whether the shared metadata can be reached, and logs one line at each change. */
import type { Logger } from "../observability/log.js";

export interface MetadataReach {
  readonly isAway: boolean;
  /** What the action gives; null: the metadata cannot be reached. */
  attempt<T extends object | boolean>(action: () => Promise<T>): Promise<T | null>;
  /** A look has worked. */
  isBack(): void;
}

export function createMetadataReach(log: Logger): MetadataReach {
  let isAway = false;
  return {
    get isAway() {
      return isAway;
    },
    attempt: async (action) => {
      try {
        return await action();
      } catch (error) {
        if (!isAway) log.warn("the cluster's metadata cannot be reached: no shard changes hands", { error });
        isAway = true;
        return null;
      }
    },
    isBack: () => {
      if (isAway) log.info("the cluster's metadata can be reached again");
      isAway = false;
    },
  };
}
