/** What must be known of a bucket after a restart and cannot be learnt from the server. */

/** `made`: by this deployment, which may make it again; `found`: made by somebody else. */
export type BucketOrigin = "made" | "found";

/**
 * A field that something else has written with values of another type. InfluxDB has one type for each field and shard
 * (a stretch of time, usually a week), whatever the device: it refuses every point of ours there.
 */
export interface FieldConflict {
  readonly productID: string;
  readonly field: string;
  /** The shard, [shard, stop), and the first of our refused points in it; microseconds. */
  readonly shard: number;
  readonly stop: number;
  readonly start: number;
  /** InfluxDB's name of the type that it holds. */
  readonly heldAs: string;
}

export interface InfluxLedger {
  bucketOrigin(): Promise<BucketOrigin | null>;
  keepBucketOrigin(origin: BucketOrigin): Promise<void>;
  /** The conflicts whose data point still exists, including those that other processes have recorded. */
  conflicts(): Promise<FieldConflict[]>;
  keepConflict(conflict: FieldConflict): Promise<void>;
  endConflict(conflict: FieldConflict): Promise<void>;
}
