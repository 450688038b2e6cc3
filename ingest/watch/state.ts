import type { Trigger } from "../../store/alerts.js";
import type { DeviceIngest, ReportedColumn } from "../../store/device-ingest.js";
import type { Reason } from "../decode/reasons.js";
import { emptyMap, emptySet, ownMap, ownSet } from "../shared-empty.js";

/** The newest value used of a data point, and the one before it. Times in microseconds. */
export interface PointState {
  time: number;
  /** Numbers, and booleans as 1 and 0; NaN for text. */
  value: number;
  previous: number;
}

export type AlertEffect =
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
  raising: ReadonlyMap<string, Raise>;
  columns: ReadonlyMap<ReportedColumn, number | string>;
  /** What the columns held when they were last set from here. */
  reported: ReadonlyMap<ReportedColumn, number | string>;
  /** What it was last evaluated by. */
  plan: unknown;
  /** The fences that it was last evaluated by. */
  scopes: unknown;
  isDirty: boolean;
  /** An alert has begun or ended: that is written at once, what goes on with the rest. */
  isUrgent: boolean;
}

/** What of a state is kept as JSON: numbers only. */
interface Kept {
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
  const kept = (row?.state ?? {}) as Kept;
  const [longitude, latitude] = kept.place ?? [null, null];
  return {
    id: device.id,
    tenant: device.tenant,
    journalID: row?.journalID ?? 0,
    saves: row?.saves ?? 0,
    messages: row?.messages ?? 0,
    points: row?.points ?? 0,
    refused: mapOf(Object.entries(row?.refused ?? {}) as [Reason, number][]),
    lastAt: row?.lastAt ? row.lastAt * 1000 : null,
    values: mapOf(
      kept.values?.map(([id, time, value, previous]) => [
        id,
        { time, value: value ?? Number.NaN, previous: previous ?? Number.NaN },
      ]),
    ),
    since: mapOf(kept.since?.map(([rule, time, version]) => [rule, { time, version }])),
    longitude: longitude ?? Number.NaN,
    latitude: latitude ?? Number.NaN,
    connections: [...(kept.connections ?? [])],
    offlineSince: row?.offlineSince ?? null,
    active: causes.length === 0 ? emptySet : new Set(causes),
    effects: [],
    raising: emptyMap,
    columns: emptyMap,
    reported: emptyMap,
    plan: null,
    scopes: null,
    isDirty: false,
    isUrgent: false,
  };
}

function mapOf<Key, Value>(entries: readonly (readonly [Key, Value])[] = []): ReadonlyMap<Key, Value> {
  return entries.length === 0 ? emptyMap : new Map(entries);
}

/** NaN becomes null in JSON. */
export function toDeviceIngest(state: DeviceState): DeviceIngest {
  const kept: Kept = {
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

/** What is counted: a message has an id, and values that are made into a detail when they are asked for. */
export interface Countable {
  readonly id: number;
  detail(): Trigger["alertDetail"];
}

/** Counts one more message of a trouble that goes on and was written of lately; false: `raise` must say what it is. */
export function countOn(state: DeviceState, cause: string, message: Countable): boolean {
  const open = state.raising.get(cause);
  if (open === undefined) return false;
  if (open.counted === message.id) return true;
  open.counted = message.id;
  open.times++;
  open.detail = message.detail();
  return true;
}

/** A trouble that `countOn` did not count. */
export function raise(state: DeviceState, trigger: Raise["trigger"], message: Countable): void {
  if (!state.active.has(trigger.cause)) state.isUrgent = true;
  state.active = ownSet(state.active).add(trigger.cause);
  const effect: Raise = { kind: "raise", trigger, detail: message.detail(), times: 1, counted: message.id };
  state.raising = ownMap(state.raising).set(trigger.cause, effect);
  state.effects.push(effect);
}

/** `time` in microseconds. */
export function recover(state: DeviceState, cause: string, time: number): void {
  if (state.active.size === 0 || !ownSet(state.active).delete(cause)) return;
  state.isUrgent = true;
  ownMap(state.raising).delete(cause);
  state.effects.push({ kind: "end", cause, endTime: Math.floor(time / 1000) });
}
