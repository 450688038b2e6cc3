/** A record as decoded, which the series consumer hands on so that the alerts consumer need not decode it again. */
import type { JournalRecord, MessageRecord } from "../../store/journal/record.js";
import { type DecodedPoint, type DecodeOutcome, type DecodeRules, decodePoints } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { DeviceEntry } from "../directory/entries.js";
import { toMessage } from "./records.js";

export interface DecodeRefusal {
  readonly reason: Reason;
  readonly count: number;
  /** The key, if it is about a single value. */
  readonly key?: string | undefined;
}

export interface DecodedRecord {
  readonly points: readonly DecodedPoint[];
  /** Index in `points` of the record's first point. */
  readonly from: number;
  readonly outcome: DecodeOutcome | null;
  readonly refusals: readonly DecodeRefusal[];
}

/** Is offered what has been decoded, in the order of the journal. */
export interface DecodedListener {
  /**
   * `previousID`: the record before this one. `decoded` is null if the record is no message or could not be decoded.
   */
  offer(
    previousID: number,
    record: JournalRecord,
    device: DeviceEntry | undefined,
    decoded: DecodedRecord | null,
  ): void;
}

/** Stands for a dead letter, which must not be decoded. */
export const deadLetterRecord: DecodedRecord = {
  points: [],
  from: 0,
  outcome: null,
  refusals: [{ reason: "set_aside", count: 1 }],
};

/** Decodes a record by itself. One that cannot be decoded has no points and is refused. */
export function decodeAlone(
  record: MessageRecord,
  device: DeviceEntry,
  rules: Omit<DecodeRules, "asOfReceipt">,
): DecodedRecord {
  const points: DecodedPoint[] = [];
  const refusals: DecodeRefusal[] = [];
  const refuse = (reason: Reason, count: number): void => void refusals.push({ reason, count });
  try {
    const outcome = decodePoints(device, toMessage(record), { ...rules, asOfReceipt: false }, points, refuse);
    return { points, from: 0, outcome, refusals };
  } catch {
    // The series consumer fails at it too, and reports it.
    refuse("error", 1);
    return { points: [], from: 0, outcome: null, refusals };
  }
}
