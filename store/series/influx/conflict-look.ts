/** Whether InfluxDB still holds a field with another type, found without writing. */
import type { InfluxClient } from "./client.js";
import { ForeignValue, parseRecords } from "./csv.js";
import { fluxAnyPoint, fluxFieldType } from "./flux.js";
import type { FieldConflict } from "./ledger.js";
import { readResponseText } from "./reading.js";

/** Types that have no mean, which distinguishes them from numbers. */
const withoutMean: ReadonlySet<string> = new Set(["string", "boolean"]);

/**
 * The type outlives the points: InfluxDB keeps it as long as the measurement has any point in the shard. Integers
 * cannot be distinguished from other numbers without a write: their conflicts hold until no point is left there.
 * @throws StoreError UNAVAILABLE
 */
export async function stillHolds(
  client: Pick<InfluxClient, "query">,
  bucket: string,
  { productID, field, shard, stop, heldAs }: FieldConflict,
): Promise<boolean> {
  try {
    await readResponseText(client.query(fluxFieldType(bucket, productID, field, shard)));
  } catch (error) {
    if (error instanceof ForeignValue) return error.heldAs === heldAs;
    throw error;
  }
  if (withoutMean.has(heldAs)) return false;
  return (
    parseRecords(await readResponseText(client.query(fluxAnyPoint(bucket, productID, shard, stop)))).length >
    0
  );
}
