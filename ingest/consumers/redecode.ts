import type { EventLogReading } from "../../store/events/events.js";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { asError } from "../../store/lib/errors.js";
import { createSlice } from "../../store/lib/scheduling.js";
import type { Point, RefusedPoint, SeriesStore } from "../../store/series/series.js";
import { type DecodedPoint, type DecodeRules, decodePoints } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { OnFailed } from "../followers/failures.js";
import { isDecodable, toMessage } from "../followers/records.js";
import { type Compared, compareStored, createSeenTimes, newestOfEach } from "./redecode-compare.js";

interface RedecodeOptions {
  readonly events: Pick<EventLogReading, "kept">;
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
  /** Nothing is written: what would be is only counted. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

export interface Redecoded {
  readonly messages: number;
  /** Points that were missing. */
  readonly points: number;
  /** Points at whose time another value is stored, which stays. */
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: ReadonlyMap<Reason, number>;
}

const pointsPerWrite = 5000;
/** The most payload bytes of messages whose points wait to be written: a text may be as long as its message. */
const payloadsPerWrite = 8 << 20;

/**
 * Decodes kept messages by the product as it is now and stores what is not there yet: points of data points, or of
 * streams, defined later. Newest messages first, and never over a stored point, so that at every time the value of
 * the newest message stays; repeating it changes nothing.
 */
export async function redecode(options: RedecodeOptions): Promise<Redecoded> {
  const { events, series, device, start, stop, signal } = options;
  const counts = { messages: 0, points: 0, changed: 0, unchanged: 0, refused: new Map<Reason, number>() };
  const seen = createSeenTimes();
  let waiting: Point[] = [];
  let payloads = 0;
  /** The shard whose journal stamped the points that wait. */
  let shard = 0;

  async function flush(): Promise<void> {
    const points = waiting;
    waiting = [];
    payloads = 0;
    await options.guarded(points, async (some) => {
      const found = await compareStored(series, newestOfEach(some));
      counts.points += options.dryRun ? seen.countNew(found.missing) : await write(found);
      counts.changed += found.changed;
      counts.unchanged += found.unchanged;
    });
  }

  async function write({ missing }: Compared): Promise<number> {
    const refused = await series.write(missing, 0, shard);
    if (refused.length > 0) await options.refused(refused);
    return missing.length - refused.length;
  }

  const slice = createSlice();
  for await (const record of events.kept(device.id, start, stop)) {
    signal.throwIfAborted();
    // A message that a policy refused has no points.
    if (!isDecodable(record) || options.isAside(record.id)) continue;
    counts.messages++;
    const stampedBy = shardOfID(record.id);
    if (waiting.length > 0 && stampedBy !== shard) await flush();
    shard = stampedBy;
    const own: DecodedPoint[] = [];
    try {
      decodePoints(
        device,
        toMessage(record),
        { ...options.rules(), asOfReceipt: false },
        own,
        (reason, by) => void counts.refused.set(reason, (counts.refused.get(reason) ?? 0) + by),
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
      await options.reached(record.receivedAt, counts);
    }
    if (slice.isOver()) await slice.next();
  }
  await flush();
  if (!options.dryRun) await series.flush();
  return counts;
}
