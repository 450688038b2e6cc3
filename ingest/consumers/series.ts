import type { Db } from "../../store/db.js";
import { StoreError } from "../../store/errors.js";
import type { Journal } from "../../store/journal.js";
import type { JournalBatch, JournalReader } from "../../store/journal-reader.js";
import { decodeRecord, type JournalRecord, recordKinds } from "../../store/journal-record.js";
import { quarantine } from "../../store/quarantine.js";
import type { Point, SeriesStore } from "../../store/series.js";
import { type DecodeRules, decodePoints } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { Directory } from "../directory.js";
import { count, type Meter } from "../meter.js";
import { createStopper, type Stopper } from "./stopper.js";

export interface SeriesConsumerOptions {
  readonly journal: Journal;
  readonly series: SeriesStore;
  readonly directory: Directory;
  readonly db: Db;
  readonly meter: Meter;
  readonly rules: () => DecodeRules;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Writes under way at once. A device always takes the same lane, so its points stay in order. */
  readonly lanes: number;
  /** Points wait so long for company: a store that syncs each write likes few large ones. */
  readonly lingerMs: number;
  readonly onTrouble: (error: Error | null) => void;
}

/** Follows the journal and writes points. */
export interface SeriesConsumer {
  /** Journal id up to which every point can be read. */
  readonly settledID: number;
  /** Decodes the kept messages behind `afterID` once more; rewriting a point changes nothing. */
  resettle(afterID: number): Promise<{ messages: number; points: number }>;
  close(): Promise<void>;
}

/** Points of one write and lane: the size that both engines like. */
const pointsPerWrite = 5000;
/** Decoding yields to the event loop after this long. */
const sliceMs = 4;
const retryMs = { first: 200, longest: 10_000 } as const;

export async function startSeriesConsumer(options: SeriesConsumerOptions): Promise<SeriesConsumer> {
  const { journal, series } = options;
  const from = await series.checkpoint();
  if (from > journal.appendedID) {
    throw new StoreError(
      "CORRUPT",
      `cannot start: the series store is at journal id ${from}, the journal ends at ${journal.appendedID}`,
    );
  }
  let settledID = from;
  const stopper = createStopper();
  const writer = createWriter(options, stopper);

  async function follow(reader: JournalReader): Promise<void> {
    const gathered = createGathering(options, (points, through) =>
      writer.write(points, through, () => {
        settledID = Math.max(settledID, through);
      }),
    );
    while (!stopper.stopped) {
      const batch = await reader.next();
      if (batch !== null) await gathered.decode(batch);
      else if (gathered.isDue()) await gathered.flush();
      else await stopper.wait((wake) => waitForMore(reader, gathered.waitsMs(), wake));
    }
    await reader.close();
  }

  function waitForMore(reader: JournalReader, mostMs: number, wake: () => void): void {
    const timer = Number.isFinite(mostMs) ? setTimeout(wake, mostMs) : undefined;
    void journal.waitFor(reader.lastID).then(() => {
      clearTimeout(timer);
      wake();
    });
  }

  const running = follow(await journal.read(from));
  running.catch((error: unknown) =>
    options.onTrouble(error instanceof Error ? error : new Error(String(error))),
  );

  return {
    get settledID() {
      return settledID;
    },
    resettle: async (afterID) => {
      let messages = 0;
      let points = 0;
      const end = settledID;
      const reader = await journal.read(afterID);
      // The checkpoint stays where the follower has it.
      const gathered = createGathering(options, async (some) => {
        points += some.length;
        await writer.write(some, 0, () => undefined);
      });
      for (let batch = await reader.next(); batch !== null && !stopper.stopped; batch = await reader.next()) {
        messages += batch.offsets.length;
        await gathered.decode(batch);
        if (reader.lastID >= end) break;
      }
      await gathered.flush();
      await reader.close();
      await writer.idle();
      return { messages, points };
    },
    close: async () => {
      stopper.stop();
      await running.catch(() => undefined);
    },
  };
}

/** Decoded points that wait to be written together. */
interface Gathering {
  /** Decodes in slices that leave the event loop room; writes what is full. */
  decode(batch: JournalBatch): Promise<void>;
  flush(): Promise<void>;
  isDue(): boolean;
  /** How long until what waits is due; infinite when nothing does. */
  waitsMs(): number;
}

function createGathering(
  options: SeriesConsumerOptions,
  write: (points: Point[], through: number) => Promise<void>,
): Gathering {
  const { directory, meter, lingerMs } = options;
  const refuse = (reason: Reason, by: number): void => count(meter.refused, reason, by);
  const pointsMax = pointsPerWrite * options.lanes;
  let points: Point[] = [];
  let through = 0;
  let since = Number.POSITIVE_INFINITY;

  async function flush(): Promise<void> {
    const full = points;
    points = [];
    since = Number.POSITIVE_INFINITY;
    await write(full, through);
  }

  async function decode(batch: JournalBatch): Promise<void> {
    const rules = options.rules();
    let sliceEnd = performance.now() + sliceMs;
    for (const at of batch.offsets) {
      const record = decodeRecord(batch.buffer, at);
      through = record.id;
      if (record.kind === recordKinds.uplink && !record.flag) {
        const device = directory.peek(record.device) ?? (await directory.get(record.device));
        if (device === undefined) refuse("device", 1);
        else decodePoints(device, messageOf(record), rules, points, refuse);
      }
      if (points.length >= pointsMax) await flush();
      if (performance.now() > sliceEnd) {
        await new Promise((resolve) => setImmediate(resolve));
        sliceEnd = performance.now() + sliceMs;
      }
    }
    // What the last flush of this batch left behind waits from now on.
    since = Math.min(since, performance.now());
  }

  return {
    decode,
    flush,
    isDue: () => performance.now() - since >= lingerMs,
    waitsMs: () => since + lingerMs - performance.now(),
  };
}

function messageOf(record: JournalRecord) {
  return {
    topic: record.topic,
    payload: record.payload as Buffer,
    receivedAt: record.receivedAt,
    stamp: record.stamp,
  };
}

interface Writer {
  /** Resolves when there is room for the next; `settled` is called once these points can be read. */
  write(points: readonly Point[], through: number, settled: () => void): Promise<void>;
  idle(): Promise<void>;
}

/** Writes that wait behind the one under way, per lane. */
const queuedWritesMax = 2;

function createWriter(options: SeriesConsumerOptions, stopper: Stopper): Writer {
  const lanes = Array.from({ length: options.lanes }, () => ({ tail: Promise.resolve(), queued: 0 }));
  /** The follower and a resettle may both wait. */
  const waiting = new Set<() => void>();
  /** Settling follows the order of writes, whichever lane ends first. */
  let settling: Promise<void> = Promise.resolve();

  function enter(lane: (typeof lanes)[number], points: readonly Point[], through: number): Promise<void> {
    lane.queued++;
    const written = lane.tail.then(() => writeUntilStored(options, points, through, stopper));
    lane.tail = written.finally(() => {
      lane.queued--;
      for (const wake of waiting) wake();
      waiting.clear();
    });
    return lane.tail;
  }

  return {
    write: async (points, through, settled) => {
      const parts = split(points, lanes.length);
      // One lane cannot know how far the other is: of several, the checkpoint moves when all have written.
      const own = lanes.length === 1 ? through : 0;
      const all = parts.map((part, i) => enter(lanes[i] as (typeof lanes)[number], part, own));
      settling = Promise.all([settling, ...all]).then(async () => {
        if (stopper.stopped) return;
        if (own !== through) await writeUntilStored(options, [], through, stopper);
        options.meter.pointsStored += points.length;
        settled();
      });
      while (lanes.some((lane) => lane.queued > queuedWritesMax) && !stopper.stopped) {
        await stopper.wait((wake) => void waiting.add(wake));
      }
    },
    idle: () => settling,
  };
}

/** One part a lane; a device keeps its lane. */
function split(points: readonly Point[], lanes: number): readonly (readonly Point[])[] {
  if (lanes === 1) return [points];
  const parts: Point[][] = Array.from({ length: lanes }, () => []);
  for (const point of points) (parts[laneOf(point.series.deviceID, lanes)] as Point[]).push(point);
  return parts;
}

function laneOf(deviceID: string, lanes: number): number {
  let hash = deviceID.length;
  for (let at = 0; at < deviceID.length; at++) hash = (hash * 31 + deviceID.charCodeAt(at)) | 0;
  return (hash >>> 0) % lanes;
}

/** Tries until the store has taken the points; what it will never take goes to the quarantine. */
async function writeUntilStored(
  options: SeriesConsumerOptions,
  points: readonly Point[],
  through: number,
  stopper: Stopper,
): Promise<void> {
  for (
    let pauseMs: number = retryMs.first;
    !stopper.stopped;
    pauseMs = Math.min(pauseMs * 2, retryMs.longest)
  ) {
    try {
      const refused = await options.series.write(points, through);
      options.onTrouble(null);
      if (refused.length > 0) {
        count(options.meter.refused, "series", refused.length);
        await quarantine(options.db, options.now(), refused);
      }
      return;
    } catch (error) {
      options.onTrouble(error instanceof Error ? error : new Error(String(error)));
      await stopper.wait((wake) => void setTimeout(wake, pauseMs));
    }
  }
}
