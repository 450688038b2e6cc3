import type { Trigger } from "../../store/metadata/alerts/alerts.js";
import type { DeviceIngest, ReportedColumn } from "../../store/metadata/devices/ingest.js";
import type { Reason } from "../decode/reasons.js";
import { emptyMap, emptySet, ownMap, ownSet } from "../messages/shared-empty.js";

/** The newest value used of a data point, and the one before it. Times in microseconds. */
export interface PointState {
  time: number;
  /** Numbers, and booleans as 1 and 0; NaN for text. */
  value: number;
  previous: number;
}

type AlertEffect =
  | {
      readonly kind: "raise";
      readonly trigger: Omit<Trigger, "tenant" | "deviceIntID" | "alertDetail">;
      detail: Trigger["alertDetail"];
      times: number;
      /** The message that was counted last. */
      counted: number;
    }
  | { readonly kind: "end"; readonly cause: string; readonly endTime: number };

type Raise = Extract<AlertEffect, { readonly kind: "raise" }>;

/** A cause with more beginnings and ends than one message may bring about: the further ones are only counted. */
interface HeldBack {
  /** Whether the cause had a current alert before the first deferred event. */
  readonly wasActive: boolean;
  readonly last: AlertEffect;
}

/**
 * Beginnings and ends of alerts that one message may bring about, of one cause and in all; those between them and the
 * last of each cause are only counted.
 */
export const alertEventsMax = { ofCause: 10, ofMessage: 500 } as const;
/** Characters of contents and details that one message may write. Alerts beyond that have no detail. */
export const lengthMax = 2 * 1024 * 1024;
const noDetail = "{}";

/** Effects of a message that are only counted, not written. */
export interface Omitted {
  /** Beginnings and ends of alerts. */
  readonly alertEvents: number;
  /** Details: their alerts are written without them, or keep an earlier one. */
  readonly details: number;
}

export const nothingOmitted: Omitted = { alertEvents: 0, details: 0 };

/** What the alerts consumer knows of a device, and what it has not written yet. */
export interface DeviceState {
  readonly id: number;
  readonly tenant: number;
  /** Everything at or below it has been applied. */
  journalID: number;
  saves: number;
  messages: number;
  points: number;
  refused: ReadonlyMap<Reason, number>;
  /** Receipt of the newest message, microseconds. */
  lastAt: number | null;
  values: ReadonlyMap<number, PointState>;
  /** Since when the condition of a rule has been true, by rule. */
  since: ReadonlyMap<number, { readonly time: number; readonly version: number }>;
  longitude: number;
  latitude: number;
  /** Open connections, by the number of their connect record. */
  connections: number[];
  offlineSince: number | null;
  /** Causes with a current alert. */
  active: ReadonlySet<string>;
  /** Not written yet, in order; a cause that goes on is counted in its last `raise`. */
  effects: AlertEffect[];
  /** Characters of their contents and details. */
  effectsLength: number;
  raising: ReadonlyMap<string, Raise>;
  /** Beginnings and ends that the present message has brought about, by cause; empty between messages. */
  alertEvents: ReadonlyMap<string, number>;
  heldBack: ReadonlyMap<string, HeldBack>;
  /** What the present message has brought about, in all; zero between messages. */
  readonly ofMessage: { alertEvents: number; heldBack: number; length: number; details: number };
  columns: ReadonlyMap<ReportedColumn, number | string>;
  /** What the columns held when they were last set from here. */
  reported: ReadonlyMap<ReportedColumn, number | string>;
  /** The rules by which it was last evaluated. */
  compiled: unknown;
  /** The fences that it was last evaluated by. */
  scopes: unknown;
  isDirty: boolean;
  /**
   * A message is being applied to it in slices: until that is done, nothing is written and no other message applied.
   */
  isBusy: boolean;
  /** An alert has begun or ended, which is written at once; an alert that goes on is written with the rest. */
  isUrgent: boolean;
}

/** The part of a state that is kept as JSON: numbers only. */
interface SavedState {
  readonly values?: readonly (readonly [
    id: number,
    time: number,
    value: number | null,
    previous: number | null,
  ])[];
  readonly since?: readonly (readonly [rule: number, time: number, version: number])[];
  readonly place?: readonly [number | null, number | null];
  readonly connections?: readonly number[];
}

export function newState(
  device: { readonly id: number; readonly tenant: number },
  row: DeviceIngest | undefined,
  causes: readonly string[],
): DeviceState {
  const kept = (row?.state ?? {}) as SavedState;
  const [longitude, latitude] = kept.place ?? [null, null];
  return {
    id: device.id,
    tenant: device.tenant,
    journalID: row?.journalID ?? 0,
    saves: row?.saves ?? 0,
    messages: row?.messages ?? 0,
    points: row?.points ?? 0,
    refused: toMap(Object.entries(row?.refused ?? {}) as [Reason, number][]),
    lastAt: row?.lastAt ? row.lastAt * 1000 : null,
    values: toMap(
      kept.values?.map(([id, time, value, previous]) => [
        id,
        { time, value: value ?? Number.NaN, previous: previous ?? Number.NaN },
      ]),
    ),
    since: toMap(kept.since?.map(([rule, time, version]) => [rule, { time, version }])),
    longitude: longitude ?? Number.NaN,
    latitude: latitude ?? Number.NaN,
    connections: [...(kept.connections ?? [])],
    offlineSince: row?.offlineSince ?? null,
    active: causes.length === 0 ? emptySet : new Set(causes),
    effects: [],
    effectsLength: 0,
    raising: emptyMap,
    alertEvents: emptyMap,
    heldBack: emptyMap,
    ofMessage: { alertEvents: 0, heldBack: 0, length: 0, details: 0 },
    columns: emptyMap,
    reported: emptyMap,
    compiled: null,
    scopes: null,
    isDirty: false,
    isBusy: false,
    isUrgent: false,
  };
}

function toMap<Key, Value>(entries: readonly (readonly [Key, Value])[] = []): ReadonlyMap<Key, Value> {
  return entries.length === 0 ? emptyMap : new Map(entries);
}

/** NaN becomes null in JSON. */
export function toDeviceIngest(state: DeviceState): DeviceIngest {
  const kept: SavedState = {
    values: Array.from(state.values, ([id, { time, value, previous }]) => [id, time, value, previous]),
    since: Array.from(state.since, ([rule, { time, version }]) => [rule, time, version]),
    place: [state.longitude, state.latitude],
    connections: state.connections,
  };
  return {
    deviceIntID: state.id,
    journalID: state.journalID,
    saves: state.saves,
    messages: state.messages,
    points: state.points,
    refused: Object.fromEntries(state.refused),
    lastAt: state.lastAt === null ? null : Math.floor(state.lastAt / 1000),
    offlineSince: state.offlineSince,
    state: kept,
  };
}

/** A message that is counted: it has an id, and values whose JSON is made when it is asked for. */
export interface Countable {
  readonly id: number;
  detail(): string;
}

/** Counts one more message of an alert that goes on and was raised lately; false: `raise` must say what it is. */
export function countOn(state: DeviceState, cause: string, message: Countable): boolean {
  const open = state.raising.get(cause);
  if (open === undefined) return false;
  if (open.counted === message.id) return true;
  open.counted = message.id;
  open.times++;
  const detail = message.detail();
  if (fitsState(state, detail.length)) {
    state.effectsLength += detail.length - open.detail.length;
    open.detail = detail;
  }
  return true;
}

/** Raises an alert that `countOn` did not count. */
export function raise(state: DeviceState, trigger: Raise["trigger"], message: Countable): void {
  const { cause } = trigger;
  const begins = !state.active.has(cause);
  if (!begins && state.heldBack.has(cause)) return;
  const effect: Raise = { kind: "raise", trigger, detail: message.detail(), times: 1, counted: message.id };
  if (begins) {
    state.isUrgent = true;
    state.active = ownSet(state.active).add(cause);
    if (holdsBack(state, cause, effect)) return;
  }
  take(state, effect);
}

/** `time` in microseconds. */
export function recoverRuleState(state: DeviceState, cause: string, time: number): void {
  if (state.active.size === 0 || !ownSet(state.active).delete(cause)) return;
  state.isUrgent = true;
  if (state.raising.size > 0) ownMap(state.raising).delete(cause);
  const effect: AlertEffect = { kind: "end", cause, endTime: Math.floor(time / 1000) };
  if (!holdsBack(state, cause, effect)) take(state, effect);
}

function take(state: DeviceState, effect: AlertEffect): void {
  if (effect.kind === "raise") {
    const { alertContent } = effect.trigger;
    if (!fitsState(state, alertContent.length + effect.detail.length)) effect.detail = noDetail;
    state.effectsLength += alertContent.length + effect.detail.length;
    state.raising = ownMap(state.raising).set(effect.trigger.cause, effect);
  }
  state.effects.push(effect);
}

/** Whether the message may write so much more; counted either way. */
function fitsState({ ofMessage }: DeviceState, length: number): boolean {
  const fits = ofMessage.length + length <= lengthMax;
  if (fits) ofMessage.length += length;
  else ofMessage.details++;
  return fits;
}

/** Whether the message has brought about as much of the cause, or in all, as it may. */
function holdsBack(state: DeviceState, cause: string, effect: AlertEffect): boolean {
  const { ofMessage } = state;
  const count = (state.alertEvents.get(cause) ?? 0) + 1;
  state.alertEvents = ownMap(state.alertEvents).set(cause, count);
  // If the budget of the message is too small for a detail, it takes no alerts that end again either.
  const isOver = ofMessage.alertEvents >= alertEventsMax.ofMessage || ofMessage.details > 0;
  if (count <= alertEventsMax.ofCause && !isOver) {
    ofMessage.alertEvents++;
    return false;
  }
  ofMessage.heldBack++;
  const wasActive = state.heldBack.get(cause)?.wasActive ?? effect.kind === "end";
  state.heldBack = ownMap(state.heldBack).set(cause, { wasActive, last: effect });
  return true;
}

/**
 * Ends a message after all its values: causes with deferred alert events get the state of their last event. Returns
 * what was only counted.
 */
export function endMessage(state: DeviceState): Omitted {
  const { ofMessage } = state;
  if (ofMessage.length === 0 && ofMessage.details === 0 && state.alertEvents.size === 0)
    return nothingOmitted;
  let alertEvents = ofMessage.heldBack;
  for (const [cause, { wasActive, last }] of state.heldBack) {
    if (state.active.has(cause) === wasActive) continue;
    take(state, last);
    alertEvents--;
  }
  const { details } = ofMessage;
  state.alertEvents = emptyMap;
  state.heldBack = emptyMap;
  ofMessage.alertEvents = 0;
  ofMessage.heldBack = 0;
  ofMessage.length = 0;
  ofMessage.details = 0;
  return alertEvents + details === 0 ? nothingOmitted : { alertEvents: alertEvents, details };
}
