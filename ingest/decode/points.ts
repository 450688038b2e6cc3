import { latestTime } from "../../store/lib/time-range.js";
import type { Point } from "../../store/series/series.js";
import { type FormatContext, readPayload } from "./formats.js";
import { envelopeKey } from "./json.js";
import type { DecodableDevice, PointEntry, PointSeries, StreamEntry } from "./product-model.js";
import type { Reason, Refuse } from "./reasons.js";
import type { LocalTime } from "./time.js";
import { type Converted, placeNames } from "./values.js";

/** What the decoder needs to know of one message. Times in microseconds. */
export interface DecodableMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly receivedAt: number;
  readonly stamp: number;
  /** An entry of a gateway's envelope: JSON, whose common time is `TimeStamp`. */
  readonly isEntry?: boolean;
  /** The time of values without one of their own; null: the stamp. */
  readonly sentAt?: number | null;
  /** Record ids of data points whose values here are duplicates: a later entry of the envelope has their times too. */
  readonly replaced?: ReadonlySet<number> | null;
}

export interface DecodeRules {
  readonly local: LocalTime;
  /** Earlier times are refused, microseconds: at least `earliestTime`. */
  readonly earliest: number;
  /** The oldest time kept, microseconds; 0 = no limit. */
  readonly oldest: number;
  /** Only data points that were there when the message came count: a successor of the same name is another series. */
  readonly asOfReceipt: boolean;
}

/** A point with the data point that it belongs to. */
export interface DecodedPoint extends Point {
  readonly series: PointSeries;
}

/** What a message is besides its points; most are nothing else. */
export interface DecodeOutcome {
  /** The points of a message that a fault with isDiscard keeps out of the series. */
  readonly discarded: readonly DecodedPoint[] | null;
  /** It carries entries of other devices under the key `Telemetry`. */
  readonly isEnvelope: boolean;
}

/** Points up to this far ahead of the clock are taken. */
export const aheadMaxMicros = 10 * 60e6;

/**
 * Decodes one uplink of a device into points, appended to `points` in the order of the payload. Whatever is not
 * stored is reported to `refuse`, value by value. Null if there is nothing more to say of the message.
 */
export function decodePoints(
  device: DecodableDevice,
  message: DecodableMessage,
  rules: DecodeRules,
  points: DecodedPoint[],
  refuse: Refuse,
): DecodeOutcome | null {
  const { isEntry = false } = message;
  const stream = findStream(device, message);
  work.device = device;
  work.known = stream?.points ?? device.product.points;
  work.message = message;
  work.rules = rules;
  work.points = points;
  work.refuse = refuse;
  work.discards = false;
  work.isEnvelope = false;
  context.layout = stream?.layout;
  context.local = rules.local;
  context.receivedAt = message.receivedAt;
  context.timeKey = isEntry ? "TimeStamp" : "time";
  const from = points.length;
  const mayRepeat = readPayload(message.payload, context, take, refuse);
  if (mayRepeat && points.length > from + 1) dropDuplicates(points, from, refuse);
  if (!work.discards && !work.isEnvelope) return null;
  return { isEnvelope: work.isEnvelope, discarded: work.discards ? discardFrom(points, from, refuse) : null };
}

/** The message that is being decoded: decoding never waits, so one at a time, and nothing is made for each. */
const work = {
  known: new Map() as ReadonlyMap<string, PointEntry>,
  discards: false,
  isEnvelope: false,
} as {
  device: DecodableDevice;
  known: ReadonlyMap<string, PointEntry>;
  message: DecodableMessage;
  rules: DecodeRules;
  points: DecodedPoint[];
  refuse: Refuse;
  discards: boolean;
  isEnvelope: boolean;
};

const context: { -readonly [K in keyof FormatContext]: FormatContext[K] } = {
  layout: undefined,
  local: () => null,
  receivedAt: 0,
  timeKey: "time",
  knows: (key) => work.known.has(key),
  unitsOf: (key) => work.known.get(key)?.units ?? null,
};

function take(key: string, value: unknown, time: number | null | undefined): void {
  const { message, rules, refuse } = work;
  const point = work.known.get(key);
  if (point === undefined || (rules.asOfReceipt && point.createdAt > message.receivedAt)) {
    if (key === envelopeKey && Array.isArray(value) && message.isEntry !== true) work.isEnvelope = true;
    else refuse("unknown", 1, key, value);
    return;
  }
  let stored: number | boolean | string;
  let rounded = false;
  if (point.takesNumbers && point.reportable && isExact(value)) {
    stored = value;
  } else {
    const converted: Converted = point.reportable ? point.convert(value, rules.local) : issuedOnly;
    if ("reason" in converted) {
      refuse(converted.reason, 1, key, value);
      return;
    }
    stored = converted.value;
    rounded = converted.rounded === true;
    if (typeof value === "object" && value !== null) refuseBesidePlace(key, value, refuse);
  }
  const given = time === undefined ? (message.sentAt ?? undefined) : time;
  const serverStamped = given === undefined;
  const late = serverStamped ? null : refusalOfTime(given, message.receivedAt, rules);
  if (late !== null) {
    refuse(late, 1, key, value);
    return;
  }
  const at = serverStamped ? message.stamp : (given as number);
  if (rounded) refuse("rounded", 1, key, value);
  if (point.step !== null && !isOnStep(point.step, stored as number)) refuse("step", 1, key, value);
  if (point.discards !== null && point.discards === stored) work.discards = true;
  if (message.replaced?.has(point.id)) refuse("duplicate", 1, key, value);
  else work.points.push({ series: work.device.series(point), time: at, value: stored, serverStamped });
}

/** A place is the only object that counts as a value; its members beside the coordinates are refused. */
function refuseBesidePlace(key: string, value: object, refuse: Refuse): void {
  if (Array.isArray(value) || value instanceof Uint8Array) return;
  for (const name in value) {
    if (!placeNames.has(name))
      refuse("unknown", 1, `${key}.${name}`, (value as Record<string, unknown>)[name]);
  }
}

function isExact(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

const issuedOnly: Converted = { reason: "direction" };

/** The topic's stream. An envelope's entries are JSON, even if the child sends bytes on that topic. */
export function findStream(
  device: DecodableDevice,
  { topic, isEntry }: Pick<DecodableMessage, "topic" | "isEntry">,
): StreamEntry | undefined {
  const stream = device.product.streams.get(topic);
  return isEntry === true && stream?.layout !== undefined ? undefined : stream;
}

/** Why a point of that time is not taken, or null. */
function refusalOfTime(
  time: number | null,
  receivedAt: number,
  { earliest, oldest }: DecodeRules,
): Reason | null {
  if (time === null) return "time";
  if (time > receivedAt + aheadMaxMicros) return "future";
  if (time < earliest || time > latestTime) return "time";
  return oldest !== 0 && time < oldest ? "retention" : null;
}

const stepTolerance = 1e-9;

function isOnStep({ from, size }: { readonly from: number; readonly size: number }, value: number): boolean {
  const steps = (value - from) / size;
  return Math.abs(steps - Math.round(steps)) <= stepTolerance * Math.max(1, Math.abs(steps));
}

/**
 * If a data point has several points at one time, the last one counts, whether its time was sent or is the message's
 * own.
 */
function dropDuplicates(points: DecodedPoint[], from: number, refuse: Refuse): void {
  if (isWithoutDuplicates(points, from)) return;
  const seen = new Map<PointSeries, Set<number>>();
  let kept = points.length;
  for (let at = points.length - 1; at >= from; at--) {
    const point = points[at] as DecodedPoint;
    const times = seen.get(point.series) ?? new Set();
    if (times.has(point.time)) continue;
    seen.set(point.series, times.add(point.time));
    points[--kept] = point;
  }
  const dropped = kept - from;
  if (dropped === 0) return;
  points.copyWithin(from, kept);
  points.length -= dropped;
  refuse("duplicate", dropped);
}

/** Up to this many points of one time are compared with each other faster than a map of them is built. */
const comparedMax = 16;

/** Lists in the order of time: only points that follow each other can have the same time. False in case of doubt. */
function isWithoutDuplicates(points: readonly DecodedPoint[], from: number): boolean {
  let begin = from;
  let direction = 0;
  for (let at = from; at < points.length; at++) {
    const { series, time } = points[at] as DecodedPoint;
    const step = Math.sign(time - (points[begin] as DecodedPoint).time);
    if (step !== 0) {
      if (step === -direction) return false;
      direction = step;
      begin = at;
    } else if (at - begin >= comparedMax) return false;
    for (let before = begin; before < at; before++) {
      if ((points[before] as DecodedPoint).series === series) return false;
    }
  }
  return true;
}

function discardFrom(points: DecodedPoint[], from: number, refuse: Refuse): readonly DecodedPoint[] {
  const discarded = points.splice(from);
  refuse("discarded", discarded.length);
  return discarded;
}
