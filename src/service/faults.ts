import { asError } from "../../store/lib/errors.js";
import type { Logger } from "../observability/log.js";

/** Tells of one more fault. */
type OnFault = (error: unknown) => void;

const minuteMs = 60_000;
const linesPerMinute = 10;

/** Whether one more line may be written: the first few of a minute, for whoever brings one about brings about more. */
export function createLineBudget(monotonic: () => number): () => boolean {
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

/** Logs faults of ours that have cost one packet, one message or one connection; which that is, is said before. */
export type Faults = (what: string) => OnFault;

export function createFaults(log: Pick<Logger, "error">, monotonic: () => number): Faults {
  const mayWrite = createLineBudget(monotonic);
  return (what) => (error) => {
    if (mayWrite()) log.error(`a fault of the service: ${what}`, { error: asError(error) });
  };
}
