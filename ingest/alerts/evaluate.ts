import { createSlice } from "../../store/lib/scheduling.js";
import type { ReportedColumn } from "../../store/metadata/devices/ingest.js";
import { aheadMaxMicros, type DecodedPoint } from "../decode/points.js";
import { ownMap } from "../messages/shared-empty.js";
import { type CompiledRule, type CompiledRules, type PointRules, ruleCause } from "./compiled-rules.js";
import { type FenceScope, parseScopes, weightOfScopes } from "./fences.js";
import {
  type Countable,
  countOn,
  type DeviceState,
  endMessage,
  nothingOmitted,
  type Omitted,
  type PointState,
  raise,
  recoverRuleState,
} from "./rule-state.js";

/** One message as it is evaluated; its id is that of the journal. */
export interface Observation extends Countable {
  /** Microseconds since 1970. */
  readonly receivedAt: number;
  /** Its points begin at `from` in `points`. */
  readonly points: readonly DecodedPoint[];
  readonly from: number;
  /** A fault has discarded them: only faults are looked at. */
  readonly isDiscarded: boolean;
  readonly scopes: readonly FenceScope[];
}

const severities = { fault: 1, limit: 2, scope: 3 } as const;
const reportedCharactersMax = 255;

/**
 * Applies one message, by those of its points that are not older than the last one used of the same data point. Returns
 * what was only counted.
 */
export function evaluate(compiled: CompiledRules, state: DeviceState, message: Observation): Omitted {
  let left = nothingOmitted;
  try {
    const points = begin(compiled, state, message);
    const run = begunAnew(inOneRun);
    for (let at = points === message.points ? message.from : 0; at < points.length; )
      at = evaluateInstant(compiled, state, message, points, at, run);
  } finally {
    left = endMessage(state);
  }
  return left;
}

/**
 * `evaluate` for a message that takes long: others get their turn between its times. Null if `isStopped` became
 * true first; half of the message has been applied then.
 */
export async function evaluateInSlices(
  compiled: CompiledRules,
  state: DeviceState,
  message: Observation,
  isStopped: () => boolean,
): Promise<Omitted | null> {
  let left = nothingOmitted;
  try {
    const points = begin(compiled, state, message);
    const run = newRun();
    const slice = createSlice();
    for (let at = points === message.points ? message.from : 0; at < points.length; ) {
      at = evaluateInstant(compiled, state, message, points, at, run);
      if (slice.isOver()) await slice.next();
      if (isStopped()) return null;
    }
  } finally {
    left = endMessage(state);
  }
  return left;
}

/** Work that is too long for one turn, in the unit of a formula's weight: most of a millisecond. */
const heavyFrom = 20_000;
/**
 * How much work one message may take, some 0.3 s. After that, rules and fences are checked only once more, at the last
 * time of the message.
 */
const messageWeightMax = 10_000_000;

/** Whether a message of so many points may take longer than a turn of the loop should; `scopes` as they are stored. */
export function isHeavy(compiled: CompiledRules, scopes: readonly unknown[], points: number): boolean {
  const each = compiled.moves ? compiled.weight + weightOfScopes(parseScopes(scopes)) : compiled.weight;
  return points * each > heavyFrom;
}

/** The points in the order of their times; none if there is nothing to look at. */
function begin(compiled: CompiledRules, state: DeviceState, message: Observation): readonly DecodedPoint[] {
  const { points, from } = message;
  const first = points[from];
  if (first === undefined) return [];
  if (state.compiled !== compiled) forgetCauses(compiled, state, first.time);
  if (state.scopes !== message.scopes) forgetScopes(state, message.scopes, first.time);
  if (compiled.points.size === 0) return [];
  for (let at = from + 1; at < points.length; at++) {
    if ((points[at] as DecodedPoint).time !== first.time)
      return points.slice(from).sort((a, b) => a.time - b.time);
  }
  return points;
}

/** The way through a message: what its points have touched and rules and fences have not looked at yet. */
interface Run {
  /** A number that no other instant has. */
  mark: number;
  moved: boolean;
  readonly touched: CompiledRule[];
  /** The work spent so far, in the unit of a formula's weight. */
  spent: number;
}

let marks = 0;

const newRun = (): Run => ({ mark: ++marks, moved: false, touched: [], spent: 0 });

/** Used for messages that are evaluated in one turn: there is one at a time. */
const inOneRun = newRun();

function begunAnew(run: Run): Run {
  run.mark = ++marks;
  run.moved = false;
  run.touched.length = 0;
  run.spent = 0;
  return run;
}

/** The alert of a limit, fault or rule that is no longer watched ends; watched again, it begins with the next values. */
function forgetCauses(compiled: CompiledRules, state: DeviceState, time: number): void {
  state.compiled = compiled;
  for (const point of state.values.keys())
    if (!compiled.points.has(point)) ownMap(state.values).delete(point);
  for (const rule of state.since.keys())
    if (!compiled.causes.has(ruleCause(rule))) ownMap(state.since).delete(rule);
  for (const cause of [...state.active]) {
    if (watched.test(cause) && !compiled.causes.has(cause)) recoverRuleState(state, cause, time);
  }
}

const watched = /^(fault|upper|lower|rule):/;

/**
 * Points of one time, from `from` on: all values are set before rules and fences look at them. Returns where they end.
 */
function evaluateInstant(
  compiled: CompiledRules,
  state: DeviceState,
  message: Observation,
  points: readonly DecodedPoint[],
  from: number,
  run: Run,
): number {
  const { time } = points[from] as DecodedPoint;
  let at = from;
  for (; at < points.length; at++) {
    const point = points[at] as DecodedPoint;
    if (point.time !== time) break;
    const pointRules = compiled.points.get(point.series.dataPointIntID);
    if (pointRules === undefined || (message.isDiscarded && pointRules.fault === null)) continue;
    if (!use(state, pointRules, point, message.receivedAt)) continue;
    checkFault(state, message, pointRules, point);
    if (message.isDiscarded) continue;
    checkLimits(state, message, pointRules, point);
    if (pointRules.location !== null && move(state, pointRules.location, point)) run.moved = true;
    for (const column of pointRules.columns) report(state, column, String(point.value));
    for (const rule of pointRules.rules) touch(run, rule);
  }
  // Once the message has taken too long, rules and fences are checked only once more, after its last point.
  if (run.spent <= messageWeightMax || at === points.length) look(state, message, time, run);
  return at;
}

function look(state: DeviceState, message: Observation, time: number, run: Run): void {
  if (run.moved) {
    checkScopes(state, message, time);
    run.spent += weightOfScopes(message.scopes);
    run.moved = false;
  }
  for (const rule of run.touched) {
    checkRule(state, message, rule, time);
    run.spent += rule.weight;
  }
  run.touched.length = 0;
  run.mark = ++marks;
}

function touch(run: Run, rule: CompiledRule): void {
  if (rule.touchedAt === run.mark) return;
  rule.touchedAt = run.mark;
  run.touched.push(rule);
}

/** No message can carry so late a time: the clock was ahead, and has been set back since. */
const isOfWrongClock = (time: number, receivedAt: number): boolean => time > receivedAt + aheadMaxMicros;

/** Makes it the newest value used; false if there is a newer one. */
function use(
  state: DeviceState,
  pointRules: PointRules,
  { time, value }: DecodedPoint,
  receivedAt: number,
): boolean {
  const number = typeof value === "string" ? Number.NaN : Number(value);
  const last: PointState | undefined = state.values.get(pointRules.id);
  if (last === undefined) {
    state.values = ownMap(state.values).set(pointRules.id, { time, value: number, previous: Number.NaN });
    return true;
  }
  if (time < last.time && !isOfWrongClock(last.time, receivedAt)) return false;
  // A second point of the same time takes the place of the first.
  if (time !== last.time) last.previous = last.value;
  last.time = time;
  last.value = number;
  return true;
}

function checkFault(
  state: DeviceState,
  message: Observation,
  pointRules: PointRules,
  point: DecodedPoint,
): void {
  if (pointRules.fault === null) return;
  const cause = pointRules.causes.fault;
  if (point.value !== pointRules.fault) {
    recoverRuleState(state, cause, point.time);
    return;
  }
  if (countOn(state, cause, message)) return;
  const alertName = `${pointRules.name}故障`;
  const alertContent = `${alertName}：${point.value}`;
  const startTime = toMillis(point.time);
  raise(state, { cause, alertName, alertContent, alertSeverity: severities.fault, startTime }, message);
}

function checkLimits(
  state: DeviceState,
  message: Observation,
  pointRules: PointRules,
  point: DecodedPoint,
): void {
  const { upper, lower, causes } = pointRules;
  const value = point.value as number;
  if (upper !== null && value > upper) exceed(state, message, pointRules, point, "upper");
  else recoverRuleState(state, causes.upper, point.time);
  if (lower !== null && value < lower) exceed(state, message, pointRules, point, "lower");
  else recoverRuleState(state, causes.lower, point.time);
}

const limits = { upper: { word: "超上限", sign: ">" }, lower: { word: "低于下限", sign: "<" } } as const;

function exceed(
  state: DeviceState,
  message: Observation,
  pointRules: PointRules,
  { time, value }: DecodedPoint,
  limit: "upper" | "lower",
): void {
  const cause = pointRules.causes[limit];
  if (countOn(state, cause, message)) return;
  const alertName = pointRules.name + limits[limit].word;
  const alertContent = `${alertName}：${value} ${limits[limit].sign} ${pointRules[limit]}`;
  const startTime = toMillis(time);
  raise(state, { cause, alertName, alertContent, alertSeverity: severities.limit, startTime }, message);
}

/** True if the device now has a location on the earth. */
function move(
  state: DeviceState,
  part: NonNullable<PointRules["location"]>,
  { value }: DecodedPoint,
): boolean {
  if (part === "both")
    [state.longitude = Number.NaN, state.latitude = Number.NaN] = JSON.parse(String(value)) as number[];
  else state[part] = value as number;
  const { longitude, latitude } = state;
  if (!(Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90)) return false;
  report(state, "longitude", longitude);
  report(state, "latitude", latitude);
  return true;
}

/** Sets a column of the device if its value has changed. */
function report(state: DeviceState, column: ReportedColumn, value: number | string): void {
  if (state.reported.get(column) === value) return;
  if (typeof value === "string" && value.length > reportedCharactersMax) return;
  state.reported = ownMap(state.reported).set(column, value);
  state.columns = ownMap(state.columns).set(column, value);
}

function checkScopes(state: DeviceState, message: Observation, time: number): void {
  const { longitude, latitude } = state;
  for (const scope of message.scopes) {
    const isTrouble = scope.contains([longitude, latitude]) === scope.isForbidden;
    if (!isTrouble) {
      recoverRuleState(state, scope.cause, time);
      continue;
    }
    if (countOn(state, scope.cause, message)) continue;
    const word = scope.isForbidden ? "进入禁止区域" : "离开活动区域";
    const alertContent = `${scope.name}：${word} [${longitude}, ${latitude}]`;
    const { cause, name: alertName } = scope;
    const startTime = toMillis(time);
    raise(state, { cause, alertName, alertContent, alertSeverity: severities.scope, startTime }, message);
  }
}

/** The alert of a fence that has been taken from the device ends. */
function forgetScopes(state: DeviceState, scopes: readonly FenceScope[], time: number): void {
  state.scopes = scopes;
  for (const cause of [...state.active]) {
    if (cause.startsWith("scope:") && scopes.every((scope) => scope.cause !== cause))
      recoverRuleState(state, cause, time);
  }
}

const operandsMax = 200;
const operands = new Float64Array(operandsMax);

/** A condition that is null says nothing: neither that an alert begins nor that it ends. */
function checkRule(state: DeviceState, message: Observation, rule: CompiledRule, time: number): void {
  for (let at = 0; at < rule.operands.length; at++) {
    const { point, isPrevious } = rule.operands[at] as CompiledRule["operands"][number];
    const known = point === null ? undefined : state.values.get(point);
    operands[at] = known === undefined ? Number.NaN : isPrevious ? known.previous : known.value;
  }
  const result = rule.evaluate(operands);
  if (Number.isNaN(result)) return;
  if (result === 0) {
    if (state.since.size > 0) ownMap(state.since).delete(rule.id);
    recoverRuleState(state, rule.cause, time);
    return;
  }
  if (rule.durationMicros > 0) {
    const before = state.since.get(rule.id);
    const goesOn = before?.version === rule.version && !isOfWrongClock(before.time, message.receivedAt);
    const since = goesOn ? before : { time, version: rule.version };
    if (since !== before) state.since = ownMap(state.since).set(rule.id, since);
    if (time - since.time < rule.durationMicros) return;
  }
  if (countOn(state, rule.cause, message)) return;
  const { alertName, alertContent, alertSeverity } = rule.rule;
  const startTime = toMillis(time);
  raise(state, { cause: rule.cause, alertName, alertContent, alertSeverity, startTime }, message);
}

const toMillis = (micros: number): number => Math.floor(micros / 1000);

const detailValuesMax = 200;
const valueCharactersMax = 1024;
/** The most characters of texts and locations together: a message may begin many alerts, and each stores them. */
const detailCharactersMax = 8192;

const shownText = (text: string, isLocation: boolean): unknown =>
  isLocation ? JSON.parse(text) : text.slice(0, valueCharactersMax);

/**
 * A message's values by dataPointID, as JSON that is made once, when first asked for; of several values of one, the
 * last.
 */
export function formatDetail(points: readonly DecodedPoint[], from: number): Countable["detail"] {
  let made: string | undefined;
  return () => {
    made ??= JSON.stringify(listValues(points, from));
    return made;
  };
}

function listValues(points: readonly DecodedPoint[], from: number): Readonly<Record<string, unknown>> {
  const detail: Record<string, unknown> = {};
  let left = detailValuesMax;
  let characters = detailCharactersMax;
  for (let at = from; at < points.length && left > 0; at++, left--) {
    const { series, value } = points[at] as DecodedPoint;
    const generation = series.field.indexOf("~");
    const dataPointID = generation < 0 ? series.field : series.field.slice(0, generation);
    if (typeof value === "string") {
      characters -= Math.min(value.length, valueCharactersMax);
      if (characters < 0) break;
    }
    detail[dataPointID] = typeof value === "string" ? shownText(value, series.isLocation) : value;
  }
  return detail;
}
