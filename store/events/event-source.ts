/**
 * The records of some logs in one segment, newest first: found by the index, in memory or in the file, and read from
 * the segment.
 */

import type { JournalRecord } from "../journal/record.js";
import { copyRecord } from "../journal/record-codecs.js";
import type { Segment } from "../journal/segment.js";
import type { PostingScope } from "./event-index.js";
import type { Log, ReceivedTimes, SegmentIndex } from "./event-postings.js";

export interface ReceivedSpan {
  readonly start: number;
  readonly stop: number;
}

export interface EventSource {
  readonly segment: Segment;
  readonly count: number;
  /** Null where the index does not say. */
  readonly received: ReceivedTimes | null;
  /** `count` of the offsets after the first `skip`, every `step`th. */
  offsets(skip: number, count: number, step?: number): Promise<number[]> | number[];
  /**
   * The records at the offsets, null for damaged ones, and none at all if the segment is gone; those that come
   * together share their bytes.
   */
  read(offsets: readonly number[]): AsyncGenerator<(JournalRecord | null)[], void>;
}

/** For a segment whose index is still in memory. Records that come later are not among those that it gives. */
export function liveSource(
  segment: Segment,
  index: SegmentIndex,
  scope: PostingScope,
  owners: readonly number[],
  wanted: readonly Log[],
): Omit<EventSource, "read"> {
  const count = scope === "device" ? index.countOfDevice : index.countOfTenant;
  const walk = scope === "device" ? index.ofDevice : index.ofTenant;
  const chains = wanted.flatMap((log) => owners.map((owner) => [log, owner] as const));
  const countNow = () => chains.reduce((sum, [log, owner]) => sum + count(log, owner), 0);
  const counted = countNow();
  return {
    segment,
    received: index.received,
    count: counted,
    offsets: (skip, take, step = 1) => {
      const from = skip + countNow() - counted;
      const [only] = chains;
      if (chains.length === 1 && only !== undefined) return walk(...only, from, take, step);
      const end = from + (take - 1) * step + 1;
      const all = chains.flatMap(([log, owner]) => walk(log, owner, 0, end, 1)).sort((a, b) => b - a);
      return all.slice(from, end).filter((_, i) => i % step === 0);
    },
  };
}

/** The record of that id, found by halving: ids descend with the offsets. A damaged one is not found; others are. */
export async function findIn(source: EventSource, id: number): Promise<JournalRecord | null> {
  let low = 0;
  let high = source.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { record, place } = await intactFrom(source, middle, high);
    if (record?.id === id) return copyRecord(record);
    if (record !== null && record.id > id) low = place + 1;
    else high = middle;
  }
  return null;
}

/** The first record of the places [from, to) that can be read: a damaged one does not say on which side to go on. */
async function intactFrom(
  source: EventSource,
  from: number,
  to: number,
): Promise<{ record: JournalRecord | null; place: number }> {
  for (let place = from; place < to; ) {
    // Nearly always the first is intact.
    const count = place === from ? 1 : Math.min(rowsPerRead, to - place);
    let at = place;
    for await (const records of source.read(await source.offsets(place, count))) {
      for (const record of records) {
        if (record !== null) return { record, place: at };
        at++;
      }
    }
    place += count;
  }
  return { record: null, place: to };
}

/** Records asked for at once. */
const rowsPerRead = 64;

/** One log's records, newest first, read as they are taken. */
export async function* readNewestFirst(find: () => Promise<EventSource[]>): AsyncGenerator<JournalRecord> {
  for (const source of await find()) {
    for (let skip = 0; skip < source.count; skip += rowsPerRead) {
      for await (const records of source.read(await source.offsets(skip, rowsPerRead))) {
        for (const record of records) if (record !== null) yield record;
      }
    }
  }
}

/** Each segment is asked for its offsets only once: a device may have a million records in it. */
export async function* keptBetween(
  find: () => Promise<EventSource[]>,
  start: number,
  stop: number,
): AsyncGenerator<JournalRecord> {
  for (const source of reaching(await find(), { start, stop })) {
    for await (const records of source.read(await source.offsets(0, source.count))) {
      for (const record of records) {
        if (record !== null && record.receivedAt >= start && record.receivedAt < stop) yield record;
      }
    }
  }
}

/** The sources that may hold records received in the span. */
export function reaching(sources: readonly EventSource[], { start, stop }: ReceivedSpan): EventSource[] {
  return sources.filter(
    ({ received }) => received === null || (received.oldest < stop && received.newest >= start),
  );
}
