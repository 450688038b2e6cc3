import type { BucketOrigin, FieldConflict, InfluxLedger } from "../../store/series/influx/ledger.js";

/** A ledger that lasts as long as the test. */
export function memoryLedger(): InfluxLedger & { origin: BucketOrigin | null; known: FieldConflict[] } {
  const same = (one: FieldConflict, other: FieldConflict): boolean =>
    one.productID === other.productID && one.field === other.field && one.shard === other.shard;
  const ledger = {
    origin: null as BucketOrigin | null,
    known: [] as FieldConflict[],
    bucketOrigin: async () => ledger.origin,
    keepBucketOrigin: async (origin: BucketOrigin) => {
      ledger.origin = origin;
    },
    conflicts: async () => [...ledger.known],
    keepConflict: async (conflict: FieldConflict) => {
      ledger.known = [...ledger.known.filter((one) => !same(one, conflict)), conflict];
    },
    endConflict: async (conflict: FieldConflict) => {
      ledger.known = ledger.known.filter((one) => !same(one, conflict));
    },
  };
  return ledger;
}
