import { createSlice } from "../../../../store/lib/scheduling.js";
import {
  newPatience,
  type Publication,
  type PublishOutcome,
  type PublishRefusal,
} from "../../../clients/client.js";
import type { DeviceRequest } from "./device-request.js";

/** Bytes of a body between two looks at the clock: as much as is read in a fraction of a slice. */
const bytesPerLook = 4096;
/** What a line costs besides its bytes, counted in these. */
export const bytesPerLine = 64;

/** Yields to others as a body is read: called with the bytes just passed, it returns what to wait for, if anything. */
export type Pace = (bytes: number) => Promise<void> | undefined;

export function createPace(): Pace {
  const slice = createSlice();
  let passed = 0;
  return (bytes) => {
    passed += bytes;
    if (passed < bytesPerLook) return undefined;
    passed = 0;
    return slice.isOver() ? slice.next() : undefined;
  };
}

/** The messages of one request, taken in their order and reported as they reach the disk. */
interface Taking {
  /** Whether so many messages are within the limit, which is then waited for; if not, none is to be taken. */
  isWithin(messages: number, bytes: number): Promise<boolean>;
  /** Undefined unless something has to be waited for before the next. `report` is called once. */
  take(message: Publication, report: (outcome: PublishOutcome) => void): Promise<void> | undefined;
  /** Resolves once all of them have been reported. */
  settled(): Promise<void>;
}

/** Whether what comes after a message that is refused so need not be tried. */
const endsAll = (outcome: PublishOutcome): outcome is PublishRefusal =>
  outcome === "rate" || outcome === "unavailable" || outcome === "gone";

export function createTaking({ client, ip, isFull, room, response }: DeviceRequest): Taking {
  const patience = newPatience();
  let waiting = 0;
  let wake: (() => void) | null = null;
  /** Why nothing more is taken. */
  let over: PublishRefusal | null = null;

  async function settled(): Promise<void> {
    while (waiting > 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  async function takeInTurn(message: Publication, report: (outcome: PublishOutcome) => void): Promise<void> {
    const taken = (await room()) ? await client.take(message, ip, patience) : "unavailable";
    if (typeof taken === "string") return finish(report, taken);
    waiting++;
    void taken.outcome.then((outcome) => settle(report, outcome));
  }

  function settle(report: (outcome: PublishOutcome) => void, outcome: PublishOutcome): void {
    waiting--;
    finish(report, outcome);
    const woken = wake;
    wake = null;
    woken?.();
  }

  function finish(report: (outcome: PublishOutcome) => void, outcome: PublishOutcome): void {
    if (endsAll(outcome)) over = outcome;
    report(outcome);
  }

  return {
    isWithin: (messages, bytes) => client.isWithin(messages, bytes, patience),
    take: (message, report) => {
      // The client is gone and would not learn the outcome: a retry must not store the message twice.
      if (over === null && response.destroyed) over = "unavailable";
      if (over !== null) {
        report(over);
        return undefined;
      }
      if (isFull()) return takeInTurn(message, report);
      const found = client.takeNow(message, ip, patience, (outcome) => settle(report, outcome));
      if (found === "wait") return takeInTurn(message, report);
      if (found === null) waiting++;
      else finish(report, found);
      return undefined;
    },
    settled,
  };
}
