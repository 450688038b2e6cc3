import type { Point } from "../../store/series.js";
import type { DeviceEntry } from "../directory.js";
import type { PointSeries, StreamEntry } from "../product-model.js";
import { type FormatContext, readPayload } from "./formats.js";
import type { Reason } from "./reasons.js";
import type { LocalTime } from "./time.js";
import type { Converted } from "./values.js";

/** What the decoder needs to know of one message. Times in microseconds. */
export interface Message {
  readonly topic: string;
  readonly payload: Buffer;
  readonly receivedAt: number;
  readonly stamp: number;
  /** An entry of a gateway's envelope: JSON, whose common time is `TimeStamp`. */
  readonly isEntry?: boolean;
}

export interface DecodeRules {
  readonly local: LocalTime;
  /** The oldest time kept, microseconds; 0 = no limit. */
  readonly oldest: number;
  /** Only data points that were there when the message came count: a successor of the same name is another series. */
  readonly asOfReceipt: boolean;
}

/** A point with the data point that it belongs to. */
export interface DecodedPoint extends Point {
  readonly series: PointSeries;
}

/** What a message is beside its points; most are nothing else. */
export interface Outcome {
  /** The points of a message that a fault with isDiscard keeps out of the series. */
  readonly discarded: readonly DecodedPoint[] | null;
  /** It carries entries of other devices under the key `Telemetry`. */
  readonly isEnvelope: boolean;
}

/** Points up to this far ahead of the clock are taken. */
export const aheadMaxMicros = 10 * 60e6;

export type Refuse = (reason: Reason, count: number) => void;

export const envelopeKey = "Telemetry";

/**
 * Decodes one uplink of a device into points, appended to `points` in the order of the payload. Whatever is not
 * stored is told to `refuse`, value by value. Null where there is nothing more to say of the message.
 */
export function decodePoints(
  device: DeviceEntry,
  message: Message,
  rules: DecodeRules,
  points: DecodedPoint[],
  refuse: Refuse,
): Outcome | null {
  const { isEntry = false, receivedAt, stamp } = message;
  const stream = streamOf(device, message);
  const known = stream?.points ?? device.product.points;
  const from = points.length;
  let stamped = 0;
  let discards = false;
  let isEnvelope = false;
  const context: FormatContext = {
    layout: stream?.layout,
    local: rules.local,
    receivedAt,
    timeKey: isEntry ? "TimeStamp" : "time",
    knows: (key) => known.has(key),
  };
  const reason = readPayload(message.payload, context, (key, value, time) => {
    const point = known.get(key);
    if (point === undefined || (rules.asOfReceipt && point.createdAt > receivedAt)) {
      if (key === envelopeKey && Array.isArray(value) && !isEntry) isEnvelope = true;
      else refuse("unknown", 1);
      return;
    }
    const converted: Converted = point.reportable ? point.convert(value, rules.local) : issuedOnly;
    if ("reason" in converted) {
      refuse(converted.reason, 1);
      return;
    }
    const at = time === undefined ? stamp : checkTime(time, receivedAt, rules, refuse);
    if (at === null) return;
    const stored = converted.value;
    if (converted.rounded === true) refuse("rounded", 1);
    if (point.step !== null && !isOnStep(point.step, stored as number)) refuse("step", 1);
    if (point.discards !== null && point.discards === stored) discards = true;
    if (time === undefined) stamped++;
    points.push({ series: device.series(point), time: at, value: stored, serverStamped: time === undefined });
  });
  if (reason !== null) refuse(reason, 1);
  if (stamped > 1) dropDuplicates(points, from, refuse);
  if (!discards && !isEnvelope) return null;
  return { isEnvelope, discarded: discards ? discardFrom(points, from, refuse) : null };
}

const issuedOnly: Converted = { reason: "direction" };

/** The topic's stream. An envelope's entries are JSON, also where the child sends bytes on that topic. */
function streamOf(device: DeviceEntry, { topic, isEntry }: Message): StreamEntry | undefined {
  const stream = device.product.streams.get(topic);
  return isEntry === true && stream?.layout !== undefined ? undefined : stream;
}

function checkTime(
  time: number | null,
  receivedAt: number,
  { oldest }: DecodeRules,
  refuse: Refuse,
): number | null {
  const reason =
    time === null
      ? "time"
      : time > receivedAt + aheadMaxMicros
        ? "future"
        : time < (oldest === 0 ? Number.MIN_SAFE_INTEGER : oldest)
          ? "retention"
          : null;
  if (reason !== null) refuse(reason, 1);
  return reason === null ? time : null;
}

const stepTolerance = 1e-9;

function isOnStep({ from, size }: { readonly from: number; readonly size: number }, value: number): boolean {
  const steps = (value - from) / size;
  return Math.abs(steps - Math.round(steps)) <= stepTolerance * Math.max(1, Math.abs(steps));
}

/** Entries without a time share the message's stamp: the last one of a data point counts. */
function dropDuplicates(points: DecodedPoint[], from: number, refuse: Refuse): void {
  const last = new Map<unknown, number>();
  for (let at = from; at < points.length; at++) {
    const { serverStamped, series } = points[at] as DecodedPoint;
    if (serverStamped) last.set(series, at);
  }
  let kept = from;
  for (let at = from; at < points.length; at++) {
    const point = points[at] as DecodedPoint;
    if (!point.serverStamped || last.get(point.series) === at) points[kept++] = point;
  }
  const dropped = points.length - kept;
  points.length = kept;
  if (dropped > 0) refuse("duplicate", dropped);
}

function discardFrom(points: DecodedPoint[], from: number, refuse: Refuse): readonly DecodedPoint[] {
  const discarded = points.splice(from);
  refuse("discarded", discarded.length);
  return discarded;
}
