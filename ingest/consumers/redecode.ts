import type { EventLog } from "../../store/events/events.js";
import { asError } from "../../store/lib/errors.js";
import { textsPerReadBytes } from "../../store/lib/text-bytes.js";
import { createSlice } from "../../store/lib/turns.js";
import type { Point, RefusedPoint, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { type DecodedPoint, type DecodeRules, decodePoints } from "../decode/points.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { OnFailed } from "../followers/failures.js";
import { isDecodable, messageOf } from "../followers/records.js";

interface RedecodeOptions {
  readonly events: Pick<EventLog, "kept">;
  readonly series: SeriesStore;
  readonly device: DeviceEntry;
  /** Receipt of the messages, microseconds. */
  readonly start: number;
  readonly stop: number;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  /** Runs `write` with those of the points that may still be written: data points may have been deleted. */
  readonly guarded: (
    points: readonly Point[],
    write: (some: readonly Point[]) => Promise<void>,
  ) => Promise<void>;
  /** Receipt of the message just read, and counts so far. */
  readonly reached: (receivedAt: number, counts: Redecoded) => Promise<void>;
  /** Keeps the points that the store will never take. */
  readonly refused: (points: readonly RefusedPoint[]) => Promise<void>;
  /** Messages that must not be looked into. */
  readonly isAside: (id: number) => boolean;
  /** A message that cannot be decoded is passed over. */
  readonly onFailed: OnFailed;
  readonly signal: AbortSignal;
}

interface Redecoded {
  readonly messages: number;
  readonly points: number;
}

const pointsPerWrite = 5000;
/** Of messages whose points wait to be written: a text may be as long as its message. */
const payloadsPerWrite = 8 << 20;
const readPointsMax = 10_000;

/**
 * Decodes kept messages by the product as it is now and stores what is not there yet: points of data points, or of
 * streams, defined later. Newest messages first, and never over a stored point, so that at every time the value of
 * the newest message stays; repeating it changes nothing.
 */
export async function redecode(options: RedecodeOptions): Promise<Redecoded> {
  const { events, series, device, start, stop, signal } = options;
  let messages = 0;
  let stored = 0;
  let waiting: Point[] = [];
  let payloads = 0;

  async function flush(): Promise<void> {
    const points = waiting;
    waiting = [];
    payloads = 0;
    await options.guarded(points, async (some) => {
      const missing = await notStored(series, newestOfEach(some));
      const refused = await series.write(missing, 0);
      if (refused.length > 0) await options.refused(refused);
      stored += missing.length - refused.length;
    });
  }

  const slice = createSlice();
  for await (const record of events.kept(device.id, start, stop)) {
    signal.throwIfAborted();
    // A message that a policy refused has no points.
    if (!isDecodable(record) || options.isAside(record.id)) continue;
    messages++;
    const own: DecodedPoint[] = [];
    try {
      decodePoints(
        device,
        messageOf(record),
        { ...options.rules(), asOfReceipt: false },
        own,
        () => undefined,
      );
    } catch (error) {
      options.onFailed({ follower: "series", id: record.id, device: record.device, error: asError(error) });
      continue;
    }
    // Within a message the last one of a time wins, as over all.
    for (const point of own.reverse()) waiting.push(point);
    payloads += record.payload.length;
    if (waiting.length >= pointsPerWrite || payloads >= payloadsPerWrite) {
      await flush();
      await options.reached(record.receivedAt, { messages, points: stored });
    }
    if (slice.isOver()) await slice.next();
  }
  await flush();
  await series.flush();
  return { messages, points: stored };
}

/** The first of the points of one series and time: the newest message's. */
function newestOfEach(points: readonly Point[]): Map<SeriesRef, Map<number, Point>> {
  const bySeries = new Map<SeriesRef, Map<number, Point>>();
  for (const point of points) {
    const byTime = bySeries.get(point.series) ?? new Map<number, Point>();
    bySeries.set(point.series, byTime);
    if (!byTime.has(point.time)) byTime.set(point.time, point);
  }
  return bySeries;
}

/** Those whose series has no point at their time. */
async function notStored(
  store: SeriesStore,
  bySeries: ReadonlyMap<SeriesRef, Map<number, Point>>,
): Promise<Point[]> {
  const missing: Point[] = [];
  for (const [series, byTime] of bySeries) {
    const times = [...byTime.keys()].sort((a, b) => a - b);
    const stop = (times.at(-1) ?? 0) + 1;
    // In pieces: one message may be years older than the next, with a million points between them.
    for (let at = 0; at < times.length; ) {
      const range = { start: times[at] as number, stop, oldest: readPointsMax, bytesMax: textsPerReadBytes };
      const found = await store.read(series, range);
      for (const time of found.times) byTime.delete(time);
      const last = found.times.at(-1);
      const isCut = found.kind === "text" && found.cut === true;
      if (last === undefined || (found.times.length < readPointsMax && !isCut)) break;
      while (at < times.length && (times[at] as number) <= last) at++;
    }
    missing.push(...byTime.values());
  }
  return missing;
}
