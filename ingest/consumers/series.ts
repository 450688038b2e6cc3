/** The follower of the journal that writes points. */
import type { Journal } from "../../store/journal/journal.js";
import { waitUntil } from "../../store/lib/abortable.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import type { Point } from "../../store/series/series.js";
import type { StartIsolation } from "../followers/crash-isolation.js";
import type { DecodedListener } from "../followers/decoded.js";
import { followJournal } from "../followers/follower.js";
import type { Meter } from "../meter.js";
import { createDecoder, type DecoderOptions } from "./decoder.js";
import { createPointBatch } from "./point-batch.js";
import { createPointWriter, type PointWriterOptions } from "./point-writer.js";
import { createReplays, type Replays } from "./replay.js";

export interface SeriesConsumerOptions extends PointWriterOptions, DecoderOptions {
  readonly journal: Journal;
  /** Points of one write: a size that suits the engine. */
  readonly pointsMax: number;
  /** Points wait so long for others, to be written together. */
  readonly lingerMs: number;
  readonly listener?: DecodedListener;
  /** Called with points once they can be read; not with those that `replay` writes again. */
  readonly onStored?: (points: readonly Point[]) => void;
  /** Called with the journal id up to which every point can be read, as it grows, after `onStored`. */
  readonly onSettled?: (id: number) => void;
  readonly narrow: StartIsolation;
  /** Whether the record is a dead letter, which has no points. */
  readonly isAside: (id: number) => boolean;
  /** The consumer cannot go on; what the journal holds waits for the next start. */
  readonly onFailure: (error: Error) => void;
}

export interface SeriesConsumer extends Replays {
  /** Journal id up to which every point can be read. */
  readonly settledID: number;
  close(): Promise<void>;
}

export async function startSeriesConsumer(options: SeriesConsumerOptions): Promise<SeriesConsumer> {
  const { journal, series } = options;
  const from = await series.checkpoint();
  const stop = new AbortController();
  const { signal } = stop;
  const isolation = options.narrow(from, journal.committedID);
  const writer = createPointWriter(options, signal);
  const pauses = createPauses();
  let settledID = from;
  options.onSettled?.(from);

  function settle(through: number): void {
    settledID = Math.max(settledID, through);
    isolation.settled(settledID);
  }

  const batch = createPointBatch({
    afterID: from,
    pointsMax: options.pointsMax,
    lingerMs: options.lingerMs,
    write: (points, through, sourceOf) => {
      const settled = (refused: ReadonlySet<Point>): void => {
        settle(through);
        const stored = refused.size === 0 ? points : points.filter((point) => !refused.has(point));
        countStored(options.meter, stored);
        for (const { series: of } of refused) options.meter.rates.refused(of.tenant, "series", 1);
        options.onStored?.(stored);
        options.onSettled?.(settledID);
      };
      return writer.write(points, through, settled, sourceOf);
    },
  });
  const decoder = createDecoder(options, batch, false, options.listener ?? null, signal);

  async function writeAll(): Promise<void> {
    await batch.flush();
    await writer.idle();
  }

  async function begin(): Promise<void> {
    batch.startWaiting();
    await pauses.run(writeAll);
    decoder.begin();
  }

  /** Writes what is due, and waits for more. */
  async function caughtUp(lastID: number): Promise<boolean> {
    batch.startWaiting();
    await pauses.run(writeAll);
    const waitsMs = batch.waitsMs();
    if (waitsMs <= 0) await batch.flush();
    else if (lastID > batch.through) await passOver(lastID);
    else if (!(await waitForRecords(journal, lastID, waitsMs, pauses, signal))) {
      await writeAll();
      return false;
    }
    return true;
  }

  /** Passes over ids without a record: those of records that are lost. */
  async function passOver(lastID: number): Promise<void> {
    await writeAll();
    batch.through = lastID;
    settle(lastID);
    options.onSettled?.(settledID);
  }

  const running = followJournal(
    await journal.read(from),
    {
      pass: (id) => isolation.pass(id, settledID),
      enter: (record) => isolation.enter(record, writeAll),
      begin,
      take: decoder.take,
      caughtUp,
    },
    signal,
  );
  running.catch((error: unknown) => options.onFailure(asError(error)));

  return {
    get settledID() {
      return settledID;
    },
    ...createReplays(options, writer, pauses.ask, () => settledID, signal),
    close: async () => {
      stop.abort();
      await running.catch(() => undefined);
      await isolation.close();
    },
  };
}

/** Counts them for their tenants: a batch has few runs of one. */
function countStored({ rates }: Meter, points: readonly Point[]): void {
  let tenant = 0;
  let run = 0;
  for (const { series } of points) {
    if (series.tenant !== tenant) {
      if (run > 0) rates.points(tenant, run);
      tenant = series.tenant;
      run = 0;
    }
    run++;
  }
  if (run > 0) rates.points(tenant, run);
}

/**
 * Waits for records after `lastID`, for so long at most, or until a pause is asked for. Resolves with false once the
 * journal is closed: a closed journal would answer at once, again and again, that there is nothing.
 */
async function waitForRecords(
  journal: Journal,
  lastID: number,
  mostMs: number,
  pauses: Pauses,
  signal: AbortSignal,
): Promise<boolean> {
  let isOpen = true;
  await waitUntil(signal, (wake) => {
    const timer = Number.isFinite(mostMs) ? setTimeout(wake, mostMs) : undefined;
    pauses.onAsked = wake;
    void journal.waitFor(lastID).then((open) => {
      isOpen = open;
      clearTimeout(timer);
      wake();
    });
  });
  return isOpen;
}

/** Work for which the follower stands still, with everything written that it has decoded. */
interface Pauses {
  /** Runs the work once the follower stands still. @throws StoreError UNAVAILABLE while other work runs or waits */
  ask<T>(work: () => Promise<T>): Promise<T>;
  /** Runs what has been asked for, after `settle`; called by the follower between two batches. */
  run(settle: () => Promise<void>): Promise<void>;
  /** Wakes the follower if it waits. */
  onAsked: () => void;
}

function createPauses(): Pauses {
  let asked: (() => Promise<void>) | null = null;
  const pauses: Pauses = {
    onAsked: () => undefined,
    ask: (work) =>
      new Promise((resolve, reject) => {
        if (asked !== null) {
          reject(new StoreError("UNAVAILABLE", "cannot resettle: it runs already"));
          return;
        }
        asked = () => work().then(resolve, reject);
        pauses.onAsked();
      }),
    run: async (settle) => {
      if (asked === null) return;
      await settle();
      await asked();
      asked = null;
    },
  };
  return pauses;
}
