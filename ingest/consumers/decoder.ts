/** From records to points in a batch, and what was refused of each record. */
import type { JournalRecord, MessageRecord } from "../../store/journal/record.js";
import { asError } from "../../store/lib/errors.js";
import { retryUntil } from "../../store/lib/retry.js";
import { type DecodeOutcome, type DecodeRules, decodePoints } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { DecodedListener, DecodeRefusal } from "../followers/decoded.js";
import { liesInRecord, type OnFailed } from "../followers/failures.js";
import { isDecodable, toMessage } from "../followers/records.js";
import { addCount, type Meter } from "../meter.js";
import type { DecodedPointBatch } from "./point-batch.js";

export interface DecoderOptions {
  readonly directory: Directory;
  readonly meter: Meter;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  readonly onFailed: OnFailed;
  readonly onTrouble: (error: Error | null) => void;
}

interface Decoder {
  /** Before each batch of the journal: the rules of decoding are those of this moment. */
  begin(): void;
  /** Decodes a record into the batch, which is written when it is full. */
  take(record: JournalRecord, isDeadLetter: boolean): Promise<void> | undefined;
}

const lookupDelayMs = { first: 1000, longest: 1000 } as const;

/** @param listener is handed what has been decoded, in the order of the journal; null for nobody */
export function createDecoder(
  { directory, meter, rules: currentRules, onFailed, onTrouble }: DecoderOptions,
  batch: DecodedPointBatch,
  asOfReceipt: boolean,
  listener: DecodedListener | null,
  signal: AbortSignal,
): Decoder {
  let rules: DecodeRules = { ...currentRules(), asOfReceipt };
  /** The refusals of the message that is being decoded. */
  const refusals: DecodeRefusal[] = [];
  let tenant = 0;
  const refuse = (reason: Reason, by: number, key?: string): void => {
    addCount(meter.refused, reason, by);
    if (!asOfReceipt) meter.rates.refused(tenant, reason, by);
    refusals.push({ reason, count: by, key });
  };

  function fail({ id, device }: JournalRecord, error: unknown): void {
    refuse("error", 1);
    onFailed({ follower: "series", id, device, error: asError(error) });
  }

  /** A message that cannot be decoded has no points. */
  function decodeOrFail(device: DeviceEntry, record: MessageRecord): DecodeOutcome | null {
    const { points } = batch;
    const from = points.length;
    try {
      return decodePoints(device, toMessage(record), rules, points, refuse);
    } catch (error) {
      points.length = from;
      fail(record, error);
      return null;
    }
  }

  function decode(previousID: number, record: MessageRecord, device: DeviceEntry): Promise<void> | undefined {
    const { points } = batch;
    const from = points.length;
    refusals.length = 0;
    const outcome = decodeOrFail(device, record);
    if (points.length > from) batch.addSource(from, record.device, record.id, record.payload.length);
    listener?.offer(previousID, record, device, { points, from, outcome, refusals });
    return batch.isFull ? batch.flush() : undefined;
  }

  /** Undefined if there is no such device; null if its rows cannot be read. */
  async function findOrFail(record: JournalRecord): Promise<DeviceEntry | undefined | null> {
    try {
      // The metadata may be away for a while; the message waits for it.
      const isTransient = (error: unknown) => !liesInRecord(error);
      const options = { signal, delayMs: lookupDelayMs, isTransient, onTrouble };
      return await retryUntil(() => directory.get(record.device), options);
    } catch (error) {
      if (signal.aborted) throw error;
      fail(record, error);
      return null;
    }
  }

  async function decodeOnceFound(previousID: number, record: MessageRecord): Promise<void> {
    const device = await findOrFail(record);
    if (device) return decode(previousID, record, device);
    if (device === undefined) refuse("device", 1);
    listener?.offer(previousID, record, undefined, null);
  }

  return {
    begin: () => {
      rules = { ...currentRules(), asOfReceipt };
    },
    take: (record, isDeadLetter) => {
      const previousID = batch.through;
      tenant = record.tenant;
      batch.through = record.id;
      if (isDeadLetter) {
        // The listener is not called, as it reads the record itself: it may be a dead letter for this follower alone.
        if (isDecodable(record)) refuse("set_aside", 1);
        return undefined;
      }
      if (!isDecodable(record)) {
        listener?.offer(previousID, record, undefined, null);
        return undefined;
      }
      const device = directory.peek(record.device);
      return device === undefined ? decodeOnceFound(previousID, record) : decode(previousID, record, device);
    },
  };
}
