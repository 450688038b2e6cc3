/**
 * What one log holds for a query, as a sequence of places, newest first by id. Merged lists know logs by this alone, so
 * that a log may as well be another process's.
 */

import type { JournalRecord } from "../journal/record.js";
import { type EventQuery, readEventRows } from "./event-pages.js";
import type { ReceivedTimes } from "./event-postings.js";
import { type EventSource, reaching } from "./event-source.js";

export interface EventSequence {
  readonly shard: number;
  /** Parts of the sequence, newest first: together all of it. */
  readonly runs: readonly EventRun[];
  /** The run in smaller ones that know their times more closely; the run itself where it `isSplittable` no further. */
  split(run: EventRun): Promise<readonly EventRun[]>;
  /** All rows from place `from` on, fetched `rowsAtFirst` at once, then more. Those that come together share bytes. */
  rows(from: number, rowsAtFirst: number): AsyncGenerator<EventRow[], void>;
}

/** `count` places from `from` on. */
export interface EventRun {
  readonly from: number;
  readonly count: number;
  /**
   * When the records there were received; null where the index does not say. Where a run is split, `newest` is the
   * receipt of its first record, which no other of the run can precede in a merge.
   */
  readonly received: ReceivedTimes | null;
}

export interface EventRow {
  /** Microseconds. Of a record that cannot be read: the newest time of its segment, beside whose others it stays. */
  readonly receivedAt: number;
  /** Null if it cannot be read or the query does not want it. */
  readonly record: JournalRecord | null;
}

/** Parts of a run that is split. */
const splitParts = 32;

export function isSplittable({ count, received }: EventRun): boolean {
  if (count < 2 || received === null || received.disorder === null) return false;
  return received.newest - received.oldest > received.disorder;
}

/** The sequence of one shard, from its segments' sources, newest first. */
export function createSequence(
  shard: number,
  sources: readonly EventSource[],
  { received, matches }: Pick<EventQuery, "received" | "matches">,
): EventSequence {
  const searched = matches === undefined || received === undefined ? sources : reaching(sources, received);
  let places = 0;
  // The times of a segment bound only records that are there.
  const held = searched.filter(({ count }) => count > 0);
  const placed = held.map((source) => {
    const run: EventRun = { from: places, count: source.count, received: source.received };
    places += source.count;
    return { source, run };
  });

  async function* rows(from: number, rowsAtFirst: number): AsyncGenerator<EventRow[], void> {
    let take = rowsAtFirst;
    for (const { source, run } of placed) {
      for (let skip = Math.max(0, from - run.from); skip < run.count; ) {
        const count = Math.min(take, run.count - skip);
        yield* rowsOf(source, await source.offsets(skip, count), count, matches ?? everyRecord);
        skip += count;
        take = Math.min(readEventRows, take * 2);
      }
    }
  }

  async function split(run: EventRun): Promise<readonly EventRun[]> {
    const of = placed.find((one) => run.from < one.run.from + one.run.count);
    if (of === undefined || !isSplittable(run)) return [run];
    const step = Math.ceil(run.count / splitParts);
    const skip = run.from - of.run.from + step;
    const offsets = await of.source.offsets(skip, Math.ceil(run.count / step) - 1, step);
    const probes: Probe[] = [];
    let place = run.from;
    for await (const records of of.source.read(offsets)) {
      for (const record of records) {
        place += step;
        if (record !== null) probes.push({ place, receivedAt: record.receivedAt });
      }
    }
    return splitAt(run, probes);
  }

  return { shard, runs: placed.map(({ run }) => run), split, rows };
}

const everyRecord = () => true;

/** As many rows as were asked for: a segment that retention has unlinked meanwhile leaves empty ones. */
async function* rowsOf(
  source: EventSource,
  offsets: readonly number[],
  count: number,
  matches: (record: JournalRecord) => boolean,
): AsyncGenerator<EventRow[], void> {
  const empty: EventRow = { receivedAt: source.received?.newest ?? Number.POSITIVE_INFINITY, record: null };
  let read = 0;
  for await (const records of source.read(offsets)) {
    read += records.length;
    yield records.map((record) => {
      if (record === null) return empty;
      return { receivedAt: record.receivedAt, record: matches(record) ? record : null };
    });
  }
  if (read < count) yield Array.from({ length: count - read }, () => empty);
}

/** A place of a run whose record has been read. */
interface Probe {
  readonly place: number;
  readonly receivedAt: number;
}

/** Splits a run at probes: rows before a probe were received after it, except for the disorder of the segment. */
function splitAt(run: EventRun, probes: readonly Probe[]): readonly EventRun[] {
  const { received } = run;
  if (received === null || received.disorder === null) return [run];
  const { oldest, newest, disorder } = received;
  const begins = [{ place: run.from, receivedAt: newest }, ...probes];
  return begins.map(({ place, receivedAt }, i): EventRun => {
    const next = probes[i];
    const bounds = {
      oldest: next === undefined ? oldest : Math.max(oldest, next.receivedAt - disorder),
      newest: Math.min(newest, receivedAt),
      disorder,
    };
    return { from: place, count: (next?.place ?? run.from + run.count) - place, received: bounds };
  });
}
