import { asError, StoreError } from "../../store/errors.js";
import type { Journal } from "../../store/journal.js";
import type { JournalBatch, JournalReader } from "../../store/journal-reader.js";
import { decodeRecord } from "../../store/journal-record.js";
import type { Point } from "../../store/series.js";
import { type DecodedPoint, type DecodeRules, decodePoints } from "../decode/points.js";
import type { Reason } from "../decode/reasons.js";
import type { Directory } from "../directory.js";
import type { DeviceEntry } from "../directory-entries.js";
import { count } from "../meter.js";
import type { AlertsConsumer, Refusal } from "./alerts.js";
import { createLanes, type LanesOptions } from "./lanes.js";
import { isDecodable, messageOf } from "./records.js";
import { createStopper, type Stopper } from "./stopper.js";

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
  close(): Promise<void>;
}

/** Points of one write and lane: the size that both engines like. */
const pointsPerWrite = 5000;
/** Decoding yields to the event loop after this long. */
const sliceMs = 4;
const lookupRetryMs = 1000;

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
  const writer = createLanes(options, stopper);
  /** What the follower has to do before it goes on. */
  let resettling: (() => Promise<void>) | null = null;

  async function follow(reader: JournalReader): Promise<void> {
    const gathered = createGathering(
      options,
      stopper,
      { startID: from, asOfReceipt: false },
      (points, through) =>
        writer.write(points, through, (refused) => {
          settledID = Math.max(settledID, through);
          options.onStored?.(refused.size === 0 ? points : points.filter((point) => !refused.has(point)));
        }),
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

  /** Looks at the kept messages while the follower stands still. */
  async function repeat(afterID: number, end: number): Promise<{ messages: number; points: number }> {
    let messages = 0;
    let points = 0;
    const reader = await journal.read(afterID);
    // The checkpoint stays where the follower has it.
    const how = { startID: afterID, asOfReceipt: true };
    const gathered = createGathering({ ...options, watcher: undefined }, stopper, how, async (some) => {
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
  }

  const running = follow(await journal.read(from));
  running.catch((error: unknown) => options.onFailure(asError(error)));

  return {
    get settledID() {
      return settledID;
    },
    resettle: (afterID) =>
      new Promise((resolve, reject) => {
        if (resettling !== null) {
          reject(new StoreError("UNAVAILABLE", "cannot resettle: it runs already"));
          return;
        }
        resettling = () => repeat(afterID, settledID).then(resolve, reject);
        stopper.nudge();
      }),
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

type GatheringOptions = Omit<SeriesConsumerOptions, "watcher"> & {
  readonly watcher?: SeriesConsumerOptions["watcher"] | undefined;
};

function createGathering(
  options: GatheringOptions,
  stopper: Stopper,
  { startID, asOfReceipt }: { readonly startID: number; readonly asOfReceipt: boolean },
  write: (points: Point[], through: number) => Promise<void>,
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
  let through = startID;
  let since = Number.POSITIVE_INFINITY;

  async function flush(): Promise<void> {
    const full = points;
    points = [];
    since = Number.POSITIVE_INFINITY;
    await write(full, through);
  }

  /** The metadata may be away for a while; the message waits for it. */
  async function find(id: number): Promise<DeviceEntry | undefined> {
    for (;;) {
      try {
        return await directory.get(id);
      } catch (error) {
        if (stopper.stopped) throw error;
        options.onTrouble(asError(error));
        await stopper.wait((wake) => void setTimeout(wake, lookupRetryMs));
      }
    }
  }

  async function decode(batch: JournalBatch): Promise<void> {
    const rules = { ...options.rules(), asOfReceipt };
    let sliceEnd = performance.now() + sliceMs;
    for (const at of batch.offsets) {
      const record = decodeRecord(batch.buffer, at);
      const previous = through;
      through = record.id;
      if (isDecodable(record)) {
        const device = directory.peek(record.device) ?? (await find(record.device));
        const from = points.length;
        refusals.length = 0;
        if (device === undefined) refuse("device", 1);
        const outcome = device ? decodePoints(device, messageOf(record), rules, points, refuse) : null;
        watcher?.offer(previous, record, device, device ? { points, from, outcome, refusals } : null);
      } else {
        watcher?.offer(previous, record, undefined, null);
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
