import type { Journal } from "../../store/journal/journal.js";
import type { JournalBatch, JournalReader } from "../../store/journal/reader.js";
import type { JournalRecord, MessageRecord } from "../../store/journal/record.js";
import { decodeRecord } from "../../store/journal/record-codecs.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import { textsPerReadBytes } from "../../store/lib/text-bytes.js";
import { createSlice } from "../../store/lib/turns.js";
import type { PointSource } from "../../store/metadata/quarantine.js";
import type { Point, SeriesRef, SeriesStore } from "../../store/series/series.js";
import type { AlertsConsumer, Refusal } from "../alerts/consumer.js";
import { type DecodedPoint, type DecodeRules, decodePoints, type Outcome } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceEntry } from "../directory/entries.js";
import { liesInRecord, type OnFailed } from "../followers/failures.js";
import type { Narrow } from "../followers/narrowing.js";
import { isDecodable, messageOf } from "../followers/records.js";
import { createStopper, type Stopper } from "../followers/stopper.js";
import { count } from "../meter.js";
import { createLanes, type LanesOptions, type SourceOf } from "./lanes.js";

export interface SeriesConsumerOptions extends LanesOptions {
  readonly journal: Journal;
  readonly directory: Directory;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  /** Points wait so long for company: a store that syncs each write likes few large ones. */
  readonly lingerMs: number;
  /** Is handed what has been decoded, in the order of the journal. */
  readonly watcher?: Pick<AlertsConsumer, "offer">;
  /** Told of points once they can be read; not of those that `resettle` writes anew. */
  readonly onStored?: (points: readonly Point[]) => void;
  readonly onFailed: OnFailed;
  readonly narrow: Narrow;
  /** A record that has been set aside has no points. */
  readonly isAside: (id: number) => boolean;
  /** The consumer cannot go on; what the journal holds waits for the next start. */
  readonly onFailure: (error: Error) => void;
}

/** Follows the journal and writes points. */
export interface SeriesConsumer {
  /** Journal id up to which every point can be read. */
  readonly settledID: number;
  /**
   * Decodes the kept messages behind `afterID` once more, as the product was when they came; new ones wait
   * meanwhile, so that the later write of a point still wins. @throws StoreError UNAVAILABLE while one runs
   */
  resettle(afterID: number): Promise<{ messages: number; points: number }>;
  /**
   * Decodes the kept messages in (afterID, endID] once more and writes those points that the gap covers and the store
   * does not hold: nothing is overwritten. Returns how many. @throws StoreError as `resettle` does
   */
  refill(gap: LostPoints, afterID: number, endID: number): Promise<number>;
  close(): Promise<void>;
}

/** Points of [start, stop), microseconds, that were lost; of one series or (null) of all. */
export interface LostPoints {
  readonly start: number;
  readonly stop: number;
  readonly series: Omit<SeriesRef, "kind"> | null;
}

/** Points of one write and lane: the size that both engines like. */
const pointsPerWrite = 5000;
const pointsPerPiece = 10_000;
const lookupRetryMs = 1000;
/** In place of a device whose rows cannot be read. */
const failed: unique symbol = Symbol("failed");

export async function startSeriesConsumer(options: SeriesConsumerOptions): Promise<SeriesConsumer> {
  const { journal, series } = options;
  const from = await series.checkpoint();
  let settledID = from;
  const stopper = createStopper();
  const narrowing = options.narrow(from, journal.committedID);
  const writer = createLanes(options, stopper);
  /** What the follower has to do before it goes on. */
  let resettling: (() => Promise<void>) | null = null;

  async function follow(reader: JournalReader): Promise<void> {
    const gathered = createGathering(
      options,
      stopper,
      {
        ...{ startID: from, asOfReceipt: false },
        pass: (id) => narrowing.pass(id, settledID),
        enter: (record) =>
          narrowing.enter(record, async () => {
            await gathered.flush();
            await writer.idle();
          }),
      },
      (points, through, sourceOf) => {
        const settled = (refused: ReadonlySet<Point>): void => {
          settledID = Math.max(settledID, through);
          narrowing.settled(settledID);
          options.onStored?.(refused.size === 0 ? points : points.filter((point) => !refused.has(point)));
        };
        return writer.write(points, through, settled, sourceOf);
      },
    );
    while (!stopper.stopped) {
      if (resettling !== null) {
        await gathered.flush();
        await writer.idle();
        await resettling();
        resettling = null;
      }
      const batch = await reader.next();
      if (batch !== null) await gathered.decode(batch);
      else if (gathered.isDue()) await gathered.flush();
      else if (reader.lastID > gathered.through) await passOver(gathered, reader.lastID);
      else await stopper.wait((wake) => waitForMore(reader, gathered.waitsMs(), wake));
    }
    await reader.close();
  }

  /** Ids without a record: those of records that are lost. */
  async function passOver(gathered: Gathering, id: number): Promise<void> {
    await gathered.flush();
    await writer.idle();
    gathered.through = id;
    settledID = Math.max(settledID, id);
    narrowing.settled(settledID);
  }

  function waitForMore(reader: JournalReader, mostMs: number, wake: () => void): void {
    const timer = Number.isFinite(mostMs) ? setTimeout(wake, mostMs) : undefined;
    void journal.waitFor(reader.lastID).then(() => {
      clearTimeout(timer);
      wake();
    });
  }

  /**
   * Looks at the kept messages while the follower stands still; of what they hold, `choose` says what is written.
   */
  async function repeat(
    afterID: number,
    end: number,
    choose: (points: Point[]) => Promise<Point[]>,
  ): Promise<{ messages: number; points: number }> {
    let messages = 0;
    let points = 0;
    const reader = await journal.read(afterID);
    // The checkpoint stays where the follower has it.
    const pass = (id: number) => !options.isAside(id);
    const how = { startID: afterID, asOfReceipt: true, pass, enter: async () => false };
    const gathered = createGathering(
      { ...options, watcher: undefined },
      stopper,
      how,
      async (decoded, _through, sourceOf) => {
        const some = await choose(decoded);
        points += some.length;
        await writer.write(some, 0, () => undefined, sourceOf);
      },
    );
    for (let batch = await reader.next(); batch !== null && !stopper.stopped; batch = await reader.next()) {
      messages += batch.offsets.length;
      await gathered.decode(batch);
      // Nothing behind the end but what shares a buffer with it.
      if (reader.lastID >= end) break;
    }
    await reader.close();
    if (stopper.stopped) throw new StoreError("UNAVAILABLE", "cannot resettle: the service stops");
    await gathered.flush();
    await writer.idle();
    return { messages, points };
  }

  /** Runs once the follower has come to a stand; one at a time. */
  function standing<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (resettling !== null) {
        reject(new StoreError("UNAVAILABLE", "cannot resettle: it runs already"));
        return;
      }
      resettling = () => work().then(resolve, reject);
      stopper.nudge();
    });
  }

  const running = follow(await journal.read(from));
  running.catch((error: unknown) => options.onFailure(asError(error)));

  return {
    get settledID() {
      return settledID;
    },
    resettle: (afterID) => standing(() => repeat(afterID, settledID, async (points) => points)),
    refill: async (gap, afterID, endID) => {
      const end = Math.min(endID, settledID);
      const missing = missingFrom(series);
      const choose = (points: Point[]) => missing(points.filter(coveredBy(gap)));
      return (await standing(() => repeat(afterID, end, choose))).points;
    },
    close: async () => {
      stopper.stop();
      await running.catch(() => undefined);
      narrowing.close();
    },
  };
}

/** Chooses the points at whose times the store holds nothing but what was chosen before: a later one still wins. */
function missingFrom(store: Pick<SeriesStore, "scan">): (points: readonly Point[]) => Promise<Point[]> {
  const chosen = new Map<SeriesRef, Set<number>>();
  return async (points) => {
    const bySeries = new Map<SeriesRef, Point[]>();
    for (const point of points) {
      const some = bySeries.get(point.series);
      if (some === undefined) bySeries.set(point.series, [point]);
      else some.push(point);
    }
    const missing: Point[] = [];
    for (const [ref, some] of bySeries) {
      const own = chosen.get(ref) ?? new Set();
      chosen.set(ref, own);
      const times = some.map((point) => point.time);
      const range = { start: Math.min(...times), stop: Math.max(...times) + 1 };
      const held = new Set<number>();
      const pieces = store.scan(ref, { ...range, bytesMax: textsPerReadBytes }, pointsPerPiece);
      for await (const piece of pieces) for (const time of piece.times) held.add(time);
      for (const point of some) {
        if (held.has(point.time) && !own.has(point.time)) continue;
        own.add(point.time);
        missing.push(point);
      }
    }
    return missing;
  };
}

function coveredBy({ start, stop, series }: LostPoints): (point: Point) => boolean {
  return ({ time, series: of }) =>
    time >= start &&
    time < stop &&
    (series === null ||
      (of.field === series.field &&
        of.deviceID === series.deviceID &&
        of.productID === series.productID &&
        of.tenant === series.tenant));
}

/** Decoded points that wait to be written together. */
interface Gathering {
  /** Decodes in slices that leave the event loop room; writes what is full. */
  decode(batch: JournalBatch): Promise<void>;
  flush(): Promise<void>;
  /** Every record up to this journal id has been decoded. */
  through: number;
  isDue(): boolean;
  /** How long until what waits is due; infinite when nothing does. */
  waitsMs(): number;
}

interface GatheringHow {
  readonly startID: number;
  readonly asOfReceipt: boolean;
  /** Whether a record may be decoded at once; otherwise `enter` says whether it may be at all. */
  readonly pass: (id: number) => boolean;
  readonly enter: (record: JournalRecord) => Promise<boolean>;
}

type GatheringOptions = Omit<SeriesConsumerOptions, "watcher"> & {
  readonly watcher?: SeriesConsumerOptions["watcher"] | undefined;
};

function createGathering(
  options: GatheringOptions,
  stopper: Stopper,
  how: GatheringHow,
  write: (points: Point[], through: number, sourceOf: SourceOf) => Promise<void>,
): Gathering {
  const { directory, meter, lingerMs, watcher } = options;
  /** Of the message that is being decoded. */
  const refusals: Refusal[] = [];
  const refuse = (reason: Reason, by: number): void => {
    count(meter.refused, reason, by);
    refusals.push({ reason, count: by });
  };
  const pointsMax = pointsPerWrite * options.lanes;
  let points: DecodedPoint[] = [];
  /** Of each message with points: where they begin. */
  let sources: (PointSource & { readonly from: number })[] = [];
  let through = how.startID;
  let since = Number.POSITIVE_INFINITY;

  async function flush(): Promise<void> {
    const full = points;
    const sourceOf = sourcesOf(full, sources);
    points = [];
    sources = [];
    since = Number.POSITIVE_INFINITY;
    await write(full, through, sourceOf);
  }

  /** The metadata may be away for a while; the message waits for it. @throws what lies in the device's own rows */
  async function find(id: number): Promise<DeviceEntry | undefined> {
    for (;;) {
      try {
        return await directory.get(id);
      } catch (error) {
        if (stopper.stopped || liesInRecord(error)) throw error;
        options.onTrouble(asError(error));
        await stopper.wait((wake) => void setTimeout(wake, lookupRetryMs));
      }
    }
  }

  function fail({ id, device }: JournalRecord, error: unknown): void {
    refuse("error", 1);
    options.onFailed({ follower: "series", id, device, error: asError(error) });
  }

  async function findOrFail(record: JournalRecord): Promise<DeviceEntry | undefined | typeof failed> {
    try {
      return await find(record.device);
    } catch (error) {
      if (stopper.stopped) throw error;
      fail(record, error);
      return failed;
    }
  }

  /** A message that cannot be decoded has no points. */
  function decodeOrFail(device: DeviceEntry, record: MessageRecord, rules: DecodeRules): Outcome | null {
    const from = points.length;
    try {
      return decodePoints(device, messageOf(record), rules, points, refuse);
    } catch (error) {
      points.length = from;
      fail(record, error);
      return null;
    }
  }

  async function decode(batch: JournalBatch): Promise<void> {
    const rules = { ...options.rules(), asOfReceipt: how.asOfReceipt };
    const slice = createSlice();
    for (const at of batch.offsets) {
      const record = decodeRecord(batch.buffer, at, batch.topics);
      const isAside = !how.pass(record.id) && !(await how.enter(record));
      // What waits for the store goes on after the restart.
      if (stopper.stopped) return;
      const previous = through;
      through = record.id;
      if (isAside) {
        // The watcher reads it for itself: it may be none for that.
        if (isDecodable(record)) refuse("set_aside", 1);
        continue;
      }
      if (isDecodable(record)) {
        const from = points.length;
        refusals.length = 0;
        const found = directory.peek(record.device) ?? (await findOrFail(record));
        const device = found === failed ? undefined : found;
        if (device === undefined && found !== failed) refuse("device", 1);
        const outcome = device ? decodeOrFail(device, record, rules) : null;
        if (points.length > from) sources.push({ from, deviceIntID: record.device, journalID: record.id });
        watcher?.offer(previous, record, device, device ? { points, from, outcome, refusals } : null);
      } else {
        watcher?.offer(previous, record, undefined, null);
      }
      if (points.length >= pointsMax) await flush();
      if (slice.isOver()) await slice.next();
    }
    // What the last flush of this batch left behind waits from now on.
    since = Math.min(since, performance.now());
  }

  return {
    decode,
    flush,
    get through() {
      return through;
    },
    set through(id) {
      through = id;
    },
    isDue: () => performance.now() - since >= lingerMs,
    waitsMs: () => since + lingerMs - performance.now(),
  };
}

/** Looked through for refused points only, which are few or come all at once. */
function sourcesOf(
  points: readonly Point[],
  sources: readonly (PointSource & { readonly from: number })[],
): SourceOf {
  let places: Map<Point, PointSource> | null = null;
  return (point) => {
    places ??= new Map(
      sources.flatMap((source, i) =>
        points.slice(source.from, sources[i + 1]?.from).map((one) => [one, source] as const),
      ),
    );
    return places.get(point) ?? null;
  };
}
