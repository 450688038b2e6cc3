import type { FailedRecord, OnFailed } from "../../ingest/consumers/failures.js";
import { count, type Meter } from "../../ingest/meter.js";
import type { Logger } from "../log.js";

const linesPerMinute = 10;
const minuteMs = 60_000;

/** Counts each record that the service has failed at, and logs the first few of a minute: whoever sends one sends more. */
export function createFailedRecords(
  log: Pick<Logger, "error">,
  meter: Pick<Meter, "recordsFailed">,
  monotonic: () => number,
): OnFailed {
  let since = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return ({ follower, id, device, error }: FailedRecord) => {
    count(meter.recordsFailed, follower);
    if (monotonic() - since > minuteMs) {
      since = monotonic();
      lines = 0;
    }
    if (lines++ >= linesPerMinute) return;
    log.error("a record of the journal cannot be worked on and is passed over", {
      ...{ follower, journalID: id, device, error },
    });
  };
}
