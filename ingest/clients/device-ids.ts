import type { Shares } from "../../store/lib/shares.js";
import type { RecentIDs } from "../uplinks/recent-ids.js";
import type { RecentBatches, Repeats } from "../uplinks/repeats.js";

/** What a device has sent under ids of its own: one memory for all of its clients, whatever their transports. */
export interface DeviceIDMemory {
  /** The ids of its last messages. */
  keys(): Promise<RecentIDs>;
  /** The ids of its last batches. */
  batches(): Promise<RecentBatches>;
}

/** The ids of devices that have clients. */
export interface IDMemory {
  /** Each call needs one call of `release`. */
  hold(device: number, tenant: number): DeviceIDMemory;
  release(device: number): void;
}

/** @param bytes of ids that are remembered, shared by tenants */
export function createIDMemory(repeats: Repeats, bytes: Shares<number>): IDMemory {
  const held = new Map<number, HeldIDs>();
  return {
    hold: (device, tenant) => {
      const ids = held.get(device) ?? new HeldIDs(device, tenant, repeats, bytes);
      held.set(device, ids);
      ids.clients++;
      return ids;
    },
    release: (device) => {
      const ids = held.get(device);
      if (ids === undefined || --ids.clients > 0) return;
      held.delete(device);
      ids.end();
    },
  };
}

class HeldIDs implements DeviceIDMemory {
  clients = 0;
  readonly #whose: { readonly device: number; readonly tenant: number };
  readonly #repeats: Repeats;
  readonly #bytes: Shares<number>;
  #taken = 0;
  #keys: Promise<RecentIDs> | null = null;
  #batches: Promise<RecentBatches> | null = null;

  constructor(device: number, tenant: number, repeats: Repeats, bytes: Shares<number>) {
    this.#whose = { device, tenant };
    this.#repeats = repeats;
    this.#bytes = bytes;
  }

  readonly #mayGrow = (bytes: number): boolean => {
    if (this.clients === 0 || !this.#bytes.take(this.#whose.tenant, bytes)) return false;
    this.#taken += bytes;
    return true;
  };

  keys(): Promise<RecentIDs> {
    this.#keys ??= this.#repeats.keys(this.#whose, this.#mayGrow);
    this.#keys.catch(() => {
      this.#keys = null;
    });
    return this.#keys;
  }

  batches(): Promise<RecentBatches> {
    this.#batches ??= this.#repeats.batches(this.#whose, this.#mayGrow);
    this.#batches.catch(() => {
      this.#batches = null;
    });
    return this.#batches;
  }

  end(): void {
    this.#bytes.give(this.#whose.tenant, this.#taken);
    this.#taken = 0;
  }
}
