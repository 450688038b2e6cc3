/** Applies one record to its device's state: counts, connections, and results of rules and fences for its points. */
import { isMessage, type JournalRecord } from "../../store/journal/record.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { asError } from "../../store/lib/errors.js";
import type { Reason } from "../decode/reasons.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { DecodedRecord } from "../followers/decoded.js";
import type { OnFailed } from "../followers/failures.js";
import { ownMap } from "../messages/shared-empty.js";
import { addCount, type Meter } from "../meter.js";
import type { CompiledRules, CompiledRulesCache } from "./compiled-rules.js";
import type { DeviceStates } from "./device-states.js";
import { evaluate, evaluateInSlices, formatDetail, isHeavy, type Observation } from "./evaluate.js";
import { parseScopes } from "./fences.js";
import type { Offline } from "./offline.js";
import { followPresence } from "./presence-alerts.js";
import type { DeviceState, Omitted } from "./rule-state.js";

export interface RecordEffectsOptions {
  readonly meter: Meter;
  readonly compiledRules: CompiledRulesCache;
  readonly onFailed: OnFailed;
}

/** `missing`: something must be read first; `full`: written first; `heavy`: it takes more than a turn. */
type Applied = "applied" | "missing" | "full" | "heavy" | "busy";

export interface RecordEffects {
  /** Applies the record in this turn of the loop, if possible. `rules`: those that have been read for it, if any. */
  apply(
    record: JournalRecord,
    device: DeviceEntry | undefined,
    decoded: DecodedRecord | null,
    rules?: CompiledRules,
  ): Applied;
  /** Applies a message in several turns; its device is written before or after, never between. `note` comes first. */
  applyInSlices(
    record: JournalRecord,
    device: DeviceEntry,
    decoded: DecodedRecord,
    note: (state: DeviceState) => void,
  ): Promise<void>;
  /** Reports a record that could not be worked on. No other is affected, and what it had changed until then stays. */
  fail(record: JournalRecord, error: unknown): void;
}

const deviceKinds: ReadonlySet<number> = new Set([
  recordKinds.uplink,
  recordKinds.entry,
  recordKinds.expanded,
  recordKinds.connect,
  recordKinds.disconnect,
]);

/** Whether records of the kind mean anything for a device's state. */
export const concernsDevice = (kind: number): boolean => deviceKinds.has(kind);

/** `diedAt`: connections up to this journal id ended with an earlier run. */
export function createRecordEffects(
  { meter, compiledRules, onFailed }: RecordEffectsOptions,
  states: DeviceStates,
  offline: Offline,
  diedAt: number,
  signal: AbortSignal,
): RecordEffects {
  function fail({ id, device, tenant }: JournalRecord, error: unknown): void {
    addCount(meter.refused, "error", 1);
    meter.rates.refused(tenant, "error", 1);
    onFailed({ follower: "alerts", id, device, error: asError(error) });
  }

  function countOmitted({ alertEvents, details }: Omitted): void {
    meter.alertEventsCounted += alertEvents;
    meter.detailsLeftOut += details;
  }

  function applyOther(state: DeviceState, record: JournalRecord): void {
    if (record.kind === recordKinds.expanded) {
      countRefused(state, "child", record.refusedEntries);
      if (record.refusedEntries === 0) return;
      addCount(meter.refused, "child", record.refusedEntries);
      meter.rates.refused(record.tenant, "child", record.refusedEntries);
    } else if (record.kind === recordKinds.connect || record.kind === recordKinds.disconnect) {
      followPresence(state, record, diedAt);
      offline.note(state);
    }
  }

  return {
    apply: (record, device, decoded, read) => {
      if (!concernsDevice(record.kind) || device === undefined) return "applied";
      const state = states.peek(device.id);
      if (state === undefined) return "missing";
      if (state.isBusy) return "busy";
      if (record.id <= state.journalID) return "applied";
      const rules = isMessage(record) ? (read ?? compiledRules.peek(device.product.id)) : null;
      if (rules === undefined) return "missing";
      if (states.isFull(state)) return "full";
      if (rules !== null && decoded !== null && isHeavy(rules, device.device.scopes, pointsIn(decoded)))
        return "heavy";
      try {
        if (rules === null) applyOther(state, record);
        else {
          countMessage(state, record);
          const message = decoded && createObservation(state, rules, record, device, decoded);
          if (message !== null) countOmitted(evaluate(rules, state, message));
        }
      } catch (error) {
        fail(record, error);
        countRefused(state, "error", 1);
      }
      state.journalID = record.id;
      states.touch(state);
      return "applied";
    },
    applyInSlices: async (record, device, decoded, note) => {
      const rules = await compiledRules.get(device.product.id);
      const state = await states.hold(device.device);
      if (state === null) return;
      try {
        note(state);
        const message = createObservation(state, rules, record, device, decoded);
        const counted = message && (await evaluateInSlices(rules, state, message, () => signal.aborted));
        // Only half of it has been applied: the next start applies it again.
        if (signal.aborted) return;
        if (counted !== null) countOmitted(counted);
      } catch (error) {
        fail(record, error);
        countRefused(state, "error", 1);
      }
      states.release(state);
    },
    fail,
  };
}

export function countMessage(state: DeviceState, { kind, receivedAt }: JournalRecord): void {
  state.messages++;
  // An entry has the receipt of its envelope, which may be older; other records come in order, whatever the clock says.
  state.lastAt = kind === recordKinds.entry ? Math.max(state.lastAt ?? 0, receivedAt) : receivedAt;
}

export function countRefused(state: DeviceState, reason: Reason, by: number): void {
  if (by === 0) return;
  const refused = ownMap(state.refused);
  addCount(refused, reason, by);
  state.refused = refused;
}

const pointsIn = ({ outcome, points, from }: DecodedRecord): number =>
  outcome?.discarded?.length ?? points.length - from;

/** Counts what was taken and refused; null if the message means nothing else. */
function createObservation(
  state: DeviceState,
  rules: CompiledRules,
  record: JournalRecord,
  device: DeviceEntry,
  decoded: DecodedRecord,
): Observation | null {
  for (const { reason, count: by } of decoded.refusals) countRefused(state, reason, by);
  state.points += decoded.points.length - decoded.from;
  const discarded = decoded.outcome?.discarded ?? null;
  const points = discarded ?? decoded.points;
  const from = discarded === null ? decoded.from : 0;
  if (rules.points.size === 0 && state.active.size + state.values.size === 0) return null;
  return {
    id: record.id,
    receivedAt: record.receivedAt,
    points,
    from,
    detail: formatDetail(points, from),
    isDiscarded: discarded !== null,
    scopes: parseScopes(device.device.scopes),
  };
}
