/** The follower of the journal for what messages mean besides their points. */
import type { Journal } from "../../store/journal/journal.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { orAborted } from "../../store/lib/abortable.js";
import { createLock } from "../../store/lib/scheduling.js";
import { readCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  type DeviceIngest,
  devicesOffline,
  forgetDeletedIngests,
} from "../../store/metadata/devices/ingest.js";
import { openEnvelopes } from "../envelopes/envelopes.js";
import type { StartIsolation } from "../followers/crash-isolation.js";
import type { DecodedListener } from "../followers/decoded.js";
import type { RecordConsumer } from "../followers/follower.js";
import { createCatchUp } from "./catch-up.js";
import { createDeviceStates } from "./device-states.js";
import { createJournalRecords, type JournalRecordsOptions } from "./journal-records.js";
import { createOffline, type OfflineOptions } from "./offline.js";
import { concernsDevice, createRecordEffects, type RecordEffectsOptions } from "./record-effects.js";
import { alertsConsumer } from "./state-writer.js";

export interface AlertsOptions extends JournalRecordsOptions, RecordEffectsOptions, OfflineOptions {
  readonly journal: Journal;
  readonly db: Db;
  readonly node: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** An entry of an envelope has come: its device was heard through the parent, at a time in microseconds. */
  readonly onCarried: (device: number, parent: number, receivedAt: number) => void;
  readonly narrow: StartIsolation;
  /** The consumer cannot go on; what the journal holds waits for the next start. */
  readonly onFailure: (error: Error) => void;
}

/**
 * Follows the journal for alerts, locations, the device's own record, counts of what was taken and refused, and the
 * entries of envelopes. Effects are written with the journal id that they stand for, each device in one transaction,
 * so that every message counts once. A record that the series consumer offers is taken if everything before it has
 * been; otherwise this consumer reads the journal by itself until it has caught up.
 */
export interface AlertsConsumer extends DecodedListener {
  /** Journal id up to which everything has had its effect. */
  readonly settledID: number;
  /** The journal id that a restart goes on from. */
  readonly savedID: number;
  /** What this process knows of a device, written or not; undefined if it knows nothing. */
  ingestOf(device: number): Promise<DeviceIngest | undefined>;
  /** Writes at once what has been counted of these devices, so that a change by hand is not overwritten afterwards. */
  settle(devices: readonly number[]): Promise<void>;
  /** Applies a dead letter now; it was counted as a message before. */
  replay(record: JournalRecord): Promise<void>;
  forget(change: Change): void;
  close(): Promise<void>;
}

export async function startAlertsConsumer(options: AlertsOptions): Promise<AlertsConsumer> {
  const { journal, directory, db, node, compiledRules } = options;
  await forgetDeletedIngests(db);
  const from = await readCheckpoint(db, node, alertsConsumer);
  const diedAt = journal.appendedID;
  const stop = new AbortController();
  const { signal } = stop;
  const envelopes = await openEnvelopes(options, from);
  const isolation = options.narrow(from, journal.committedID);
  /** Every record at or below it has been applied. */
  let position = from;
  /** The newest record that the series consumer has offered. */
  let offeredID = 0;

  /** A restart must not go on after an envelope whose entries are not on disk. */
  const safePosition = (): number => Math.min(position, envelopes.oldestOpenID - 1);
  const writing = { ...options, from, position: safePosition, onSettled: isolation.settled };
  const states = createDeviceStates(writing, signal);
  const offline = createOffline(options, states, directory, await devicesOffline(db, node));
  const effects = createRecordEffects(options, states, offline, diedAt, signal);
  const deps = { states, effects, envelopes, slices: createLock() };
  const records = createJournalRecords(options, deps, signal);

  /** Also the entries that wait for the disk. */
  async function settleAll(): Promise<void> {
    await envelopes.written();
    await states.rest();
  }

  /** Reads the journal until nothing is left, or the series consumer offers from here on. */
  const reader: RecordConsumer = {
    pass: (id) => isolation.pass(id, states.settledID),
    enter: async (record) => {
      const entered = isolation.enter(record, () => orAborted(settleAll(), signal));
      return (await orAborted(entered, signal)) !== false;
    },
    begin: records.prepare,
    take: async (record, isAside) => {
      await records.take(record, isAside);
      if (!signal.aborted) position = record.id;
    },
    get isOver() {
      return position === offeredID;
    },
    caughtUp: async (lastID) => {
      position = Math.max(position, lastID);
      if (isolation.isNarrow) await states.rest();
      return false;
    },
  };

  const { onFailure } = options;
  const catchUp = createCatchUp({ journal, consumer: reader, position: () => position, onFailure }, signal);
  catchUp.start();

  return {
    offer: (previousID, record, device, decoded) => {
      offeredID = record.id;
      if (catchUp.isReading || record.id <= position || signal.aborted) return;
      const isGiven = decoded !== null || !concernsDevice(record.kind);
      const known = isGiven ? device : directory.peek(record.device);
      const isReady =
        previousID <= position &&
        (isGiven || known !== undefined) &&
        isolation.pass(record.id, states.settledID) &&
        decoded?.outcome?.isEnvelope !== true;
      if (isReady && effects.apply(record, known, decoded) === "applied") position = record.id;
      else catchUp.start();
    },
    get settledID() {
      return states.settledID;
    },
    get savedID() {
      return states.savedID;
    },
    ingestOf: states.ingestOf,
    settle: states.settle,
    replay: records.replay,
    forget: compiledRules.forget,
    close: async () => {
      offline.close();
      stop.abort();
      envelopes.close();
      await catchUp.close();
      await states.close();
      await isolation.close();
    },
  };
}
