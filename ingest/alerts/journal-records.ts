/** Records as the alerts consumer reads them for itself: devices, states and rules are fetched, envelopes opened. */

import { peekRecord } from "../../store/journal/frame.js";
import type { JournalBatch } from "../../store/journal/reader.js";
import { isMessage, type JournalRecord } from "../../store/journal/record.js";
import { orAborted } from "../../store/lib/abortable.js";
import { isUnavailable, StoreError } from "../../store/lib/errors.js";
import { retryUntil } from "../../store/lib/retry.js";
import type { Lock } from "../../store/lib/scheduling.js";
import type { DecodeRules } from "../decode/points.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { Envelopes } from "../envelopes/envelopes.js";
import { type DecodedRecord, deadLetterRecord, decodeAlone } from "../followers/decoded.js";
import { liesInRecord } from "../followers/failures.js";
import { isDecodable } from "../followers/records.js";
import type { CompiledRules, CompiledRulesCache } from "./compiled-rules.js";
import type { DeviceStates } from "./device-states.js";
import { concernsDevice, countMessage, countRefused, type RecordEffects } from "./record-effects.js";
import type { DeviceState } from "./rule-state.js";

export interface JournalRecordsOptions {
  readonly directory: Directory;
  readonly compiledRules: CompiledRulesCache;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  readonly onTrouble: (error: Error | null) => void;
}

interface JournalRecordsDeps {
  readonly states: DeviceStates;
  readonly effects: RecordEffects;
  readonly envelopes: Envelopes;
  /** Held while a message is applied in several turns. */
  readonly slices: Lock;
}

interface JournalRecords {
  /** Reads the states that the batch's records need together. */
  prepare(batch: JournalBatch): Promise<void>;
  /** Takes a record, however long that has to wait; one that cannot be worked on is counted and passed over. */
  take(record: JournalRecord, isDeadLetter: boolean): Promise<void>;
  /** Applies a dead letter now; it was counted as a message before. */
  replay(record: JournalRecord): Promise<void>;
}

const lookupDelayMs = { first: 1000, longest: 1000 } as const;

export function createJournalRecords(
  { directory, compiledRules, rules, onTrouble }: JournalRecordsOptions,
  { states, effects, envelopes, slices }: JournalRecordsDeps,
  signal: AbortSignal,
): JournalRecords {
  /** The metadata may be away for a while; any other error would come again for ever. */
  const readWithRetries = <T>(action: () => Promise<T>): Promise<T> =>
    retryUntil(action, { signal, delayMs: lookupDelayMs, isTransient: isUnavailable, onTrouble });

  /** Devices in memory whose states are not. */
  function devicesIn({ buffer, offsets }: JournalBatch): DeviceEntry["device"][] {
    const found = new Map<number, DeviceEntry["device"]>();
    for (const at of offsets) {
      const { kind, device } = peekRecord(buffer, at);
      if (!concernsDevice(kind) || found.has(device) || states.peek(device) !== undefined) continue;
      const entry = directory.peek(device);
      if (entry !== undefined) found.set(device, entry.device);
    }
    return [...found.values()];
  }

  /** Applies the record. Before that it reads missing state, frees capacity and waits for others where needed. */
  async function apply(
    record: JournalRecord,
    device: DeviceEntry,
    decoded: DecodedRecord | null,
  ): Promise<void> {
    let read: CompiledRules | undefined;
    while (!signal.aborted) {
      const applied = effects.apply(record, device, decoded, read);
      if (applied === "applied") return;
      if (applied === "missing") {
        await readWithRetries(() => states.load(device.device));
        read = await readWithRetries(() => compiledRules.get(device.product.id));
      } else if (applied === "full") {
        await orAborted(states.drain(), signal);
      } else if (applied === "busy") {
        await slices(async () => undefined);
      } else if (decoded !== null) {
        const note = (state: DeviceState): void => {
          countMessage(state, record);
          state.journalID = record.id;
        };
        await readWithRetries(() => slices(() => effects.applyInSlices(record, device, decoded, note)));
      }
    }
  }

  async function findAndApply(record: JournalRecord, isDeadLetter: boolean): Promise<void> {
    // A record that must not be looked into is counted only if its device is in memory.
    const known = directory.peek(record.device);
    const device =
      known ?? (isDeadLetter ? undefined : await readWithRetries(() => directory.get(record.device)));
    if (device === undefined) return;
    let decoded: DecodedRecord | null = null;
    if (isDeadLetter) decoded = deadLetterRecord;
    else if (isDecodable(record)) decoded = decodeAlone(record, device, rules());
    if (decoded?.outcome?.isEnvelope === true && isMessage(record)) {
      // Should its entries be refused, its state must be there to count that.
      await readWithRetries(() => states.load(device.device));
      await readWithRetries(() => orAborted(envelopes.expand(record), signal));
      if (signal.aborted) return;
    }
    await apply(record, device, decoded);
  }

  return {
    prepare: async (batch) => {
      const missing = devicesIn(batch);
      try {
        await readWithRetries(() => states.loadAll(missing));
      } catch (error) {
        // The error comes again for the record that it lies in.
        if (signal.aborted || !liesInRecord(error)) throw error;
      }
    },
    take: async (record, isDeadLetter) => {
      if (!concernsDevice(record.kind) || (isDeadLetter && !isMessage(record))) return;
      try {
        await findAndApply(record, isDeadLetter);
      } catch (error) {
        if (signal.aborted || !liesInRecord(error)) throw error;
        effects.fail(record, error);
        const state = states.peek(record.device);
        if (state === undefined || record.id <= state.journalID) return;
        countRefused(state, "error", 1);
        state.journalID = record.id;
        states.touch(state);
      }
    },
    replay: async (record) => {
      const device = await directory.get(record.device);
      if (device === undefined || !isDecodable(record)) return;
      const decoded = decodeAlone(record, device, rules());
      if (decoded.outcome?.isEnvelope === true) await envelopes.expand(record);
      await slices(() => effects.applyInSlices(record, device, decoded, () => undefined));
      if (signal.aborted) throw new StoreError("UNAVAILABLE", "cannot replay: the service is stopping");
      await states.settle([device.id]);
    },
  };
}
