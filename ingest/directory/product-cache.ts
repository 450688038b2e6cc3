import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import { loadProduct, type ProductEntry } from "./entries.js";

/** The products of the devices in memory. */
export interface ProductCache {
  get(id: number): Promise<ProductEntry>;
  has(id: number): boolean;
  forget(id: number): void;
  /** The products that have been asked for. */
  all(): readonly (readonly [id: number, entry: Promise<ProductEntry>])[];
}

export function createProductCache(store: DeviceStore): ProductCache {
  const products = new Map<number, Promise<ProductEntry>>();
  return {
    get: (id) => {
      let entry = products.get(id);
      if (entry === undefined) {
        entry = loadProduct(store, id);
        entry.catch(() => products.delete(id));
        products.set(id, entry);
      }
      return entry;
    },
    has: (id) => products.has(id),
    forget: (id) => {
      products.delete(id);
    },
    all: () => [...products],
  };
}
