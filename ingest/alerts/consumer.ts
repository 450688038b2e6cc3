import { peekRecord } from "../../store/journal/frame.js";
import type { Journal } from "../../store/journal/journal.js";
import type { JournalBatch } from "../../store/journal/reader.js";
import { isMessage, type JournalRecord, type MessageRecord } from "../../store/journal/record.js";
import { decodeRecord } from "../../store/journal/record-codecs.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import { createLock, createSlice } from "../../store/lib/turns.js";
import { readCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type DeviceIngest, devicesOffline, forgetDeleted } from "../../store/metadata/devices/ingest.js";
import { openEnvelopes } from "../consumers/envelopes.js";
import { type DecodedPoint, type DecodeRules, decodePoints, type Outcome } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceEntry } from "../directory/entries.js";
import { liesInRecord, type OnFailed } from "../followers/failures.js";
import type { Narrow } from "../followers/narrowing.js";
import { isDecodable, messageOf } from "../followers/records.js";
import { createStopper } from "../followers/stopper.js";
import { ownMap } from "../messages/shared-empty.js";
import { count, type Meter } from "../meter.js";
import type { CompiledRules, WatchPlans } from "./compiled-rules.js";
import { alertsConsumer, createStates } from "./device-states.js";
import { detailOf, evaluate, evaluateInSlices, isHeavy, type Observation } from "./evaluate.js";
import { scopesOf } from "./fences.js";
import { createOffline } from "./offline.js";
import { followPresence } from "./presence-alerts.js";
import type { DeviceState, LeftOut } from "./rule-state.js";

export interface AlertsOptions {
  readonly journal: Journal;
  readonly directory: Directory;
  readonly db: Db;
  readonly node: number;
  readonly plans: WatchPlans;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  readonly meter: Meter;
  /** How long a device may be away before that is an alert. */
  readonly offlineGraceMs: number;
  /** An entry of an envelope has come: its device was heard through the carrier, at a time in microseconds. */
  readonly onCarried: (device: number, carrier: number, receivedAt: number) => void;
  readonly onTrouble: (error: Error | null) => void;
  readonly onFailed: OnFailed;
  readonly narrow: Narrow;
  /** The consumer cannot go on; what the journal holds waits for the next start. */
  readonly onFailure: (error: Error) => void;
}

export interface Refusal {
  readonly reason: Reason;
  readonly count: number;
}

/** A record as the series consumer has decoded it. */
interface Decoded {
  readonly points: readonly DecodedPoint[];
  /** Where its own begin. */
  readonly from: number;
  readonly outcome: Outcome | null;
  readonly refusals: readonly Refusal[];
}

/**
 * Follows the journal for what messages mean beside their points: alerts, locations, the device's own record, counts
 * of what was taken and refused, and the entries of envelopes. Effects are written with the place in the journal that
 * they stand for, each device in one transaction, so that every message counts once.
 */
export interface AlertsConsumer {
  /**
   * The series consumer hands over what it has decoded, in order, so that it is not decoded twice. It is taken when
   * everything up to `previousID` has been; otherwise this consumer reads the journal by itself until it is.
   */
  offer(
    previousID: number,
    record: JournalRecord,
    device: DeviceEntry | undefined,
    decoded: Decoded | null,
  ): void;
  /** Journal id up to which everything has had its effect. */
  readonly settledID: number;
  /** The journal id that a restart goes on from. */
  readonly savedID: number;
  /** What this process knows of a device, written or not; undefined when that is nothing. */
  ingestOf(device: number): Promise<DeviceIngest | undefined>;
  /** Writes at once what has been counted of these devices: what is then changed by hand is not undone by it. */
  settle(devices: readonly number[]): Promise<void>;
  /** A message that was set aside has its effect now; it has been counted as a message already. */
  replay(record: JournalRecord): Promise<void>;
  forget(change: Change): void;
  close(): Promise<void>;
}

/** The series consumer may wait for its store: after so long this one goes ahead, and decodes for itself. */
const stallMs = 1000;
/** So long it waits for others before it reads on: thousands of devices connect at once. */
const followMs = 10;
const retryMs = 1000;

/** `missing`: something must be read first; `full`: written first; `heavy`: it takes more than a turn. */
type Applied = "applied" | "missing" | "full" | "heavy" | "busy";
const deviceKinds: ReadonlySet<number> = new Set([
  ...[recordKinds.uplink, recordKinds.entry, recordKinds.expanded],
  ...[recordKinds.connect, recordKinds.disconnect],
]);

export async function startAlertsConsumer(options: AlertsOptions): Promise<AlertsConsumer> {
  const { journal, directory, db, node, plans } = options;
  await forgetDeleted(db);
  const from = await readCheckpoint(db, node, alertsConsumer);
  const diedAt = journal.appendedID;
  const stopper = createStopper();
  const envelopes = await openEnvelopes(db, journal, from, options.onCarried);
  const narrowing = options.narrow(from, journal.committedID);
  const onSettled = narrowing.settled;
  const states = createStates({ ...options, from, position: safePosition, onSettled }, stopper);
  const offline = createOffline(options, states, directory, await devicesOffline(db, node));
  /** Every record at or below it has been applied. */
  let position = from;
  /** The newest record that the series consumer has offered. */
  let offeredID = 0;
  let following: Promise<void> | null = null;
  /** What takes several turns of one state, one after the other. */
  const alone = createLock();

  /** A restart may not go on behind an envelope whose entries are not on disk. */
  function safePosition(): number {
    return Math.min(position, envelopes.oldestOpenID - 1);
  }

  /** In this turn of the loop, where that is possible. */
  function apply(
    record: JournalRecord,
    device: DeviceEntry | undefined,
    decoded: Decoded | null,
    read?: CompiledRules,
  ): Applied {
    if (!deviceKinds.has(record.kind) || device === undefined) return "applied";
    const state = states.peek(device.id);
    if (state === undefined) return "missing";
    if (state.isBusy) return "busy";
    if (record.id <= state.journalID) return "applied";
    const plan = isMessage(record) ? (read ?? plans.peek(device.product.id)) : null;
    if (plan === undefined) return "missing";
    if (states.isFull(state)) return "full";
    if (plan !== null && decoded !== null && isHeavy(plan, device.device.scopes, pointsIn(decoded)))
      return "heavy";
    try {
      if (plan !== null) {
        countMessage(state, record);
        const message = decoded && observationOf(state, plan, record, device, decoded);
        if (message !== null) countLeftOut(evaluate(plan, state, message));
      } else if (record.kind === recordKinds.expanded) {
        countRefused(state, "child", record.refusedEntries);
        if (record.refusedEntries > 0) count(options.meter.refused, "child", record.refusedEntries);
      } else if (record.kind === recordKinds.connect || record.kind === recordKinds.disconnect) {
        followPresence(state, record, diedAt);
        offline.note(state);
      }
    } catch (error) {
      fail(record, error);
      countRefused(state, "error", 1);
    }
    state.journalID = record.id;
    states.touch(state);
    return "applied";
  }

  /** In several turns: what is written of the device is it before the message, or behind it. */
  async function applyInSlices(
    record: JournalRecord,
    device: DeviceEntry,
    decoded: Decoded,
    note: (state: DeviceState) => void,
  ): Promise<void> {
    const plan = await plans.get(device.product.id);
    const state = await states.hold(device.device);
    if (state === null) return;
    try {
      note(state);
      const message = observationOf(state, plan, record, device, decoded);
      const counted = message && (await evaluateInSlices(plan, state, message, () => stopper.stopped));
      // Half of it has been applied: the next start does it again.
      if (stopper.stopped) return;
      if (counted !== null) countLeftOut(counted);
    } catch (error) {
      fail(record, error);
      countRefused(state, "error", 1);
    }
    states.release(state);
  }

  function countLeftOut({ transitions, details }: LeftOut): void {
    options.meter.transitionsCounted += transitions;
    options.meter.detailsLeftOut += details;
  }

  /** It costs this record only: what it had brought about until then stays. */
  function fail({ id, device }: JournalRecord, error: unknown): void {
    count(options.meter.refused, "error", 1);
    options.onFailed({ follower: "alerts", id, device, error: asError(error) });
  }

  function offer(
    previousID: number,
    record: JournalRecord,
    device: DeviceEntry | undefined,
    decoded: Decoded | null,
  ): void {
    offeredID = record.id;
    if (following !== null || record.id <= position || stopper.stopped) return;
    const isGiven = decoded !== null || !deviceKinds.has(record.kind);
    const known = isGiven ? device : directory.peek(record.device);
    const isReady =
      previousID <= position &&
      (isGiven || known !== undefined) &&
      narrowing.pass(record.id, states.settledID);
    if (isReady && decoded?.outcome?.isEnvelope !== true && apply(record, known, decoded) === "applied")
      position = record.id;
    else follow();
  }

  function follow(): void {
    if (following !== null || stopper.stopped) return;
    following = readOn()
      .catch((error: unknown) => options.onFailure(asError(error)))
      .finally(() => {
        following = null;
      });
  }

  /** Reads the journal until nothing is left, or the series consumer hands over from here on. */
  async function readOn(): Promise<void> {
    await stopper.wait((wake) => void setTimeout(wake, followMs));
    const reader = await journal.read(position);
    try {
      const slice = createSlice();
      for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
        const strangers = devicesIn(batch);
        await patiently(() => states.loadAll(strangers)).catch(unlessInRecord);
        for (const at of batch.offsets) {
          if (stopper.stopped) return;
          const record = decodeRecord(batch.buffer, at, batch.topics);
          const isAside = await isSetAside(record);
          if (stopper.stopped) return;
          await takeOrFail(record, isAside);
          if (stopper.stopped) return;
          position = record.id;
          if (position === offeredID) return;
          if (slice.isOver()) await slice.next();
        }
      }
      position = Math.max(position, reader.lastID);
      if (narrowing.isNarrow) await states.rest();
    } finally {
      await reader.close();
    }
  }

  /** Those of the batch that are in memory: their states are read together before they are asked for. */
  function devicesIn({ buffer, offsets }: JournalBatch): DeviceEntry["device"][] {
    const found = new Map<number, DeviceEntry["device"]>();
    for (const at of offsets) {
      const { kind, device } = peekRecord(buffer, at);
      if (!deviceKinds.has(kind) || found.has(device) || states.peek(device) !== undefined) continue;
      const entry = directory.peek(device);
      if (entry !== undefined) found.set(device, entry.device);
    }
    return [...found.values()];
  }

  async function isSetAside(record: JournalRecord): Promise<boolean> {
    if (narrowing.pass(record.id, states.settledID)) return false;
    const entered = narrowing.enter(record, () => orStopped(settleAll()));
    return (await orStopped(entered)) === false;
  }

  /** Also the entries that wait for the disk. */
  async function settleAll(): Promise<void> {
    await envelopes.written();
    await states.rest();
  }

  async function takeOrFail(record: JournalRecord, isAside: boolean): Promise<void> {
    try {
      await take(record, isAside);
    } catch (error) {
      if (!liesInRecord(error)) throw error;
      fail(record, error);
      const state = states.peek(record.device);
      if (state === undefined || record.id <= state.journalID) return;
      countRefused(state, "error", 1);
      state.journalID = record.id;
      states.touch(state);
    }
  }

  async function take(record: JournalRecord, isAside: boolean): Promise<void> {
    if (!deviceKinds.has(record.kind)) return;
    if (isAside && !isMessage(record)) return;
    // One that is not to be looked into is counted where that needs nothing more.
    const known = directory.peek(record.device);
    const device = known ?? (isAside ? undefined : await patiently(() => directory.get(record.device)));
    if (device === undefined) return;
    const decoded = isAside ? setAside : isDecodable(record) ? decode(record, device) : null;
    // The payload lies in the reader's buffer, which stays as it is until the next read.
    if (decoded?.outcome?.isEnvelope === true && isMessage(record)) {
      await patiently(() => orStopped(envelopes.expand(record)));
      if (stopper.stopped) return;
    }
    let plan: CompiledRules | undefined;
    while (!stopper.stopped) {
      const applied = apply(record, device, decoded, plan);
      if (applied === "applied") return;
      if (applied === "missing") {
        await patiently(() => states.load(device.device));
        plan = await patiently(() => plans.get(device.product.id));
      } else if (applied === "full") {
        await orStopped(states.drain());
      } else if (applied === "busy") {
        await alone(async () => undefined);
      } else if (decoded !== null) {
        const noted = (state: DeviceState) => {
          countMessage(state, record);
          state.journalID = record.id;
        };
        await patiently(() => alone(() => applyInSlices(record, device, decoded, noted)));
      }
    }
  }

  function decode(record: MessageRecord, device: DeviceEntry): Decoded {
    const points: DecodedPoint[] = [];
    const refusals: Refusal[] = [];
    const rules = { ...options.rules(), asOfReceipt: false };
    try {
      const outcome = decodePoints(device, messageOf(record), rules, points, (reason, by) =>
        refusals.push({ reason, count: by }),
      );
      return { points, from: 0, outcome, refusals };
    } catch {
      // The series consumer fails at it too, and tells of it.
      return { points: [], from: 0, outcome: null, refusals: [...refusals, { reason: "error", count: 1 }] };
    }
  }

  /** The metadata may be away for a while; any other error would come again for ever. */
  async function patiently<T>(action: () => Promise<T>): Promise<T | undefined> {
    while (!stopper.stopped) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof StoreError && error.code === "UNAVAILABLE")) throw error;
        options.onTrouble(error);
        await stopper.wait((wake) => void setTimeout(wake, retryMs));
      }
    }
    return undefined;
  }

  /** Undefined where it is stopped first. */
  function orStopped<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      void stopper.wait(() => undefined).then(() => resolve(undefined));
    });
  }

  let seenAt = position;
  const watching = setInterval(() => {
    if (position < journal.committedID && position === seenAt) follow();
    seenAt = position;
  }, stallMs);
  follow();

  return {
    offer,
    get settledID() {
      return states.settledID;
    },
    get savedID() {
      return states.savedID;
    },
    ingestOf: states.ingestOf,
    settle: states.settle,
    replay: async (record) => {
      const device = await directory.get(record.device);
      if (device === undefined || !isDecodable(record)) return;
      const decoded = decode(record, device);
      if (decoded.outcome?.isEnvelope === true) await envelopes.expand(record);
      await alone(() => applyInSlices(record, device, decoded, () => undefined));
      if (stopper.stopped) throw new StoreError("UNAVAILABLE", "cannot replay: the service is stopping");
      await states.settle([device.id]);
    },
    forget: (change) => {
      plans.forget(change);
      envelopes.forget(change);
    },
    close: async () => {
      clearInterval(watching);
      offline.close();
      stopper.stop();
      envelopes.close();
      await following;
      await states.close();
      narrowing.close();
    },
  };
}

/** It comes again for the record that it lies in. */
function unlessInRecord(error: unknown): void {
  if (!liesInRecord(error)) throw error;
}

/** What is known of a record that is not to be looked into. */
const setAside: Decoded = {
  ...{ points: [], from: 0, outcome: null },
  refusals: [{ reason: "set_aside", count: 1 }],
};

function countMessage(state: DeviceState, { kind, receivedAt }: JournalRecord): void {
  state.messages++;
  // An entry has the receipt of its envelope, which may be older; other records come in order, whatever the clock says.
  state.lastAt = kind === recordKinds.entry ? Math.max(state.lastAt ?? 0, receivedAt) : receivedAt;
}

const pointsIn = ({ outcome, points, from }: Decoded): number =>
  outcome?.discarded?.length ?? points.length - from;

/** Counts what was taken and refused; null where the message means nothing else. */
function observationOf(
  state: DeviceState,
  plan: CompiledRules,
  record: JournalRecord,
  device: DeviceEntry,
  decoded: Decoded,
): Observation | null {
  for (const { reason, count: by } of decoded.refusals) countRefused(state, reason, by);
  state.points += decoded.points.length - decoded.from;
  const discarded = decoded.outcome?.discarded ?? null;
  const points = discarded ?? decoded.points;
  const from = discarded === null ? decoded.from : 0;
  if (plan.points.size === 0 && state.active.size + state.values.size === 0) return null;
  return {
    ...{ id: record.id, receivedAt: record.receivedAt },
    points,
    from,
    detail: detailOf(points, from),
    isDiscarded: discarded !== null,
    scopes: scopesOf(device.device.scopes),
  };
}

function countRefused(state: DeviceState, reason: Reason, by: number): void {
  if (by === 0) return;
  const refused = ownMap(state.refused);
  count(refused, reason, by);
  state.refused = refused;
}
