import type { Point } from "../../store/series.js";
import type { DeviceEntry, PointEntry } from "../directory-entries.js";
import { type Reading, readJson } from "./json.js";
import type { Reason } from "./reasons.js";
import { type LocalTime, readTime } from "./time.js";

/** What the decoder needs to know of one message. Times in microseconds. */
export interface Message {
  readonly topic: string;
  readonly payload: Buffer;
  readonly receivedAt: number;
  readonly stamp: number;
}

export interface DecodeRules {
  readonly local: LocalTime;
  /** The oldest time kept, microseconds; 0 = no limit. */
  readonly oldest: number;
  /** Only data points that were there when the message came count: a successor of the same name is another series. */
  readonly asOfReceipt: boolean;
}

/** Points up to this far ahead of the clock are taken. */
export const aheadMaxMicros = 10 * 60e6;

export type Refuse = (reason: Reason, count: number) => void;

/**
 * Decodes one uplink of a device into points, appended to `points` in the order of the payload. Whatever is not
 * stored is told to `refuse`, value by value.
 */
export function decodePoints(
  device: DeviceEntry,
  message: Message,
  rules: DecodeRules,
  points: Point[],
  refuse: Refuse,
): void {
  const stream = device.product.streams.get(message.topic);
  if (stream?.binary === true) {
    refuse("encoding", 1);
    return;
  }
  const known = stream?.points ?? device.product.points;
  const from = points.length;
  let stamped = 0;
  const reason = readJson(message.payload, (reading) => {
    const point = toPoint(device, known.get(reading.key), reading, message, rules, refuse);
    if (point === null) return;
    if (point.serverStamped) stamped++;
    points.push(point);
  });
  if (reason !== null) refuse(reason, 1);
  if (stamped > 1) dropDuplicates(points, from, refuse);
}

function toPoint(
  device: DeviceEntry,
  known: PointEntry | undefined,
  reading: Reading,
  message: Message,
  rules: DecodeRules,
  refuse: Refuse,
): Point | null {
  const refused = (reason: Reason): null => {
    refuse(reason, 1);
    return null;
  };
  if (known === undefined) return refused("unknown");
  if (rules.asOfReceipt && known.createdAt > message.receivedAt) return refused("unknown");
  if (!known.reportable) return refused("direction");
  const converted = known.convert(reading.value, rules.local);
  if ("reason" in converted) return refused(converted.reason);
  const serverStamped = reading.time === undefined;
  const time = serverStamped ? message.stamp : readTime(reading.time, rules.local);
  if (time === null) return refused("time");
  if (!serverStamped && time > message.receivedAt + aheadMaxMicros) return refused("future");
  if (time < (rules.oldest === 0 ? Number.MIN_SAFE_INTEGER : rules.oldest)) return refused("retention");
  if (converted.rounded === true) refuse("rounded", 1);
  return { series: device.series(known), time, value: converted.value, serverStamped };
}

/** Entries without a time share the message's stamp: the last one of a data point counts. */
function dropDuplicates(points: Point[], from: number, refuse: Refuse): void {
  const last = new Map<unknown, number>();
  for (let at = from; at < points.length; at++) {
    const { serverStamped, series } = points[at] as Point;
    if (serverStamped) last.set(series, at);
  }
  let kept = from;
  for (let at = from; at < points.length; at++) {
    const point = points[at] as Point;
    if (!point.serverStamped || last.get(point.series) === at) points[kept++] = point;
  }
  const dropped = points.length - kept;
  points.length = kept;
  if (dropped > 0) refuse("duplicate", dropped);
}
