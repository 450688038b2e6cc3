import type { FailedRecord, OnFailed } from "../../ingest/followers/failures.js";
import { count, type Meter } from "../../ingest/meter.js";
import type { Logger } from "../observability/log.js";
import { createLineBudget } from "./faults.js";

/** Counts each record that the service has failed at, and logs the first few of a minute: whoever sends one sends more. */
export function createFailedRecords(
  log: Pick<Logger, "error">,
  meter: Pick<Meter, "recordsFailed">,
  monotonic: () => number,
): OnFailed {
  const mayWrite = createLineBudget(monotonic);
  return ({ follower, id, device, error }: FailedRecord) => {
    count(meter.recordsFailed, follower);
    if (!mayWrite()) return;
    log.error("a record of the journal cannot be worked on and is passed over", {
      ...{ follower, journalID: id, device, error },
    });
  };
}
