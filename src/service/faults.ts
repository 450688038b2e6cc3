import type { FailedRecord, OnFailed } from "../../ingest/followers/failures.js";
import { addCount, type Meter } from "../../ingest/meter.js";
import { asError } from "../../store/lib/errors.js";
import type { Logger } from "../observability/log.js";

/** Reports one more fault. */
type OnFault = (error: unknown) => void;

const minuteMs = 60_000;
const linesPerMinute = 10;

/**
 * Whether one more line may be written: only the first few of a minute, because a client that causes one fault causes
 * more.
 */
function createLineBudget(monotonic: () => number): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return () => {
    if (monotonic() - since > minuteMs) {
      since = monotonic();
      lines = 0;
    }
    return lines++ < linesPerMinute;
  };
}

/** Logs our own faults that have cost one packet, one message or one connection; `what` names it. */
export type Faults = (what: string) => OnFault;

export function createFaults(log: Pick<Logger, "error">, monotonic: () => number): Faults {
  const mayWrite = createLineBudget(monotonic);
  return (what) => (error) => {
    if (mayWrite()) log.error(`a fault of the service: ${what}`, { error: asError(error) });
  };
}

/** Counts each record that the service has failed to process, and logs the first few of a minute. */
export function createFailedRecords(
  log: Pick<Logger, "error">,
  meter: Pick<Meter, "recordsFailed">,
  monotonic: () => number,
): OnFailed {
  const mayWrite = createLineBudget(monotonic);
  return ({ follower, id, device, error }: FailedRecord) => {
    addCount(meter.recordsFailed, follower);
    if (!mayWrite()) return;
    const where = { follower, journalID: id, device, error };
    log.error("a record of the journal cannot be worked on and is passed over", where);
  };
}
