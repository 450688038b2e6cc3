import type { Kind, SeriesRef } from "../store/series/series.js";

export interface SeriesOwner {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
}

/** Series references for reads: the same object for the same series, as the store requires. */
export interface SeriesRefs {
  of(device: SeriesOwner, point: { readonly field: string; readonly kind: Kind }): SeriesRef;
}

const refsMax = 100_000;

export function createSeriesRefs(): SeriesRefs {
  const refs = new Map<string, SeriesRef>();
  return {
    of: ({ tenant, productID, deviceID }, { field, kind }) => {
      // Once a device is gone, its deviceID is free again, for another product too.
      const key = `${tenant} ${productID} ${deviceID} ${field} ${kind}`;
      let ref = refs.get(key);
      if (ref === undefined) {
        if (refs.size >= refsMax) refs.clear();
        ref = { tenant, productID, deviceID, field, kind };
        refs.set(key, ref);
      }
      return ref;
    },
  };
}
