import type { DeviceKey } from "../series.js";

/** Which of several stores has what; stores are named by their place in the list. */
export interface SeriesPlaces {
  /** The store that takes what a shard's journal has. */
  ofShard(shard: number): number;
  /**
   * For each device, in their order, the stores that may have points of it: first the one that takes them now, then, if
   * it has had another shard before, all others. @throws StoreError UNAVAILABLE
   */
  ofDevices(devices: readonly DeviceKey[]): Promise<readonly (readonly number[])[]>;
}
