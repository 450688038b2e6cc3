import type { RecordPeek } from "../journal/frame.js";
import type { Journal } from "../journal/journal.js";
import type { JournalRecord } from "../journal/record.js";
import type { Segment } from "../journal/segment.js";
import { offsetsIn, type PostingScope } from "./event-index.js";
import { type EventPage, type EventQuery, readPage } from "./event-pages.js";
import { type Log, logs } from "./event-postings.js";
import { readOwn } from "./event-reading.js";
import { createSequence, type EventSequence } from "./event-sequence.js";
import { type EventSource, findIn, keptBetween, liveSource, readNewestFirst } from "./event-source.js";
import { byID, mergeNewest } from "./merge-newest.js";
import { type EventIndexOptions, openRepairedIndex } from "./repaired-index.js";
import { createSegmentIndexing } from "./segment-indexing.js";

/** Messages of devices, and their connects and disconnects, newest first: of one journal, or of several read as one. */
export interface EventLogReading {
  /** The shards whose records it holds; none before a journal is attached. */
  readonly shards: readonly number[];
  /** What a list of these logs is merged from: one sequence for each shard. */
  sequences(query: EventQuery): Promise<EventSequence[]>;
  list(query: EventQuery): Promise<EventPage>;
  /** A message of a device by its id; null if it is none of its, or no longer kept. */
  find(device: number, id: number): Promise<JournalRecord | null>;
  /** The newest messages and connections of a device, newest first. */
  history(device: number, recordsMax: number): AsyncIterable<JournalRecord>;
  /** Ends of batches of a device, newest first. */
  batches(device: number, recordsMax: number): AsyncIterable<JournalRecord>;
  /** The messages of a device received in [start, stop), microseconds; newest first, read as they are taken. */
  kept(device: number, start: number, stop: number): AsyncIterable<JournalRecord>;
}

/** How the log follows its journal. */
export interface EventLogKeeping {
  /** The journal reports here: records as they become durable, segments as they close. */
  onRecord(segment: Segment, position: number, record: RecordPeek): void;
  onSegmentClosed(segment: Segment): void;
  /** Id of the first record of the newest segment in the index file; 0 where it is empty. */
  readonly lastIndexedID: number;
  /** Binds the journal and indexes what earlier runs left; `signal` ends that between two segments. */
  attach(journal: Journal, signal?: AbortSignal): Promise<void>;
  forget(segment: Segment): void;
  /** Quarantines the index file, which a check has found damaged, and makes it again from the segments. */
  remake(fault: string): Promise<void>;
  close(): Promise<void>;
}

/** The log over the segments of one journal. */
export interface EventLog extends EventLogReading, EventLogKeeping {}

/** Opens the log. Lists that meet a damaged index file fail with StoreError UNAVAILABLE until it is made again. */
export async function openEventLog(options: EventIndexOptions): Promise<EventLog> {
  const { path, onDamage } = options;
  const index = await openRepairedIndex(options, () => indexing.indexClosed());
  const indexing = createSegmentIndexing(index, onDamage);

  async function sources(
    scope: PostingScope,
    owners: readonly number[],
    wanted: readonly Log[],
  ): Promise<EventSource[]> {
    // A segment may move from memory to the file while the file is asked.
    const before = new Map(indexing.live);
    const counts = await index.counts(scope, owners, wanted);
    const stored = new Map(counts.map((row) => [row.firstID, row]));
    const owned = new Set(owners);
    const isOwn = (record: JournalRecord) => owned.has(scope === "device" ? record.device : record.tenant);
    return [...indexing.segments()].reverse().flatMap((segment): EventSource[] => {
      const own = before.get(segment) ?? indexing.live.get(segment);
      const read = (offsets: readonly number[]) =>
        readOwn(segment, offsets, isOwn, {
          onDamage: () => indexing.lookAt(segment),
          onForeign: () => reportForeign(segment),
        });
      if (own !== undefined) return [{ ...liveSource(segment, own, scope, owners, wanted), read }];
      const { count, received } = stored.get(segment.firstID) ?? { count: 0, received: null };
      if (count === 0) return [];
      const offsets = (skip: number, take: number, step = 1) =>
        index.ask((client) => offsetsIn(client, scope, owners, wanted, segment.firstID, skip, take, step));
      return [{ segment, count, received, offsets, read }];
    });
  }

  function reportForeign({ firstID }: Segment): void {
    const what = `the index of segment ${firstID} names records of others; lists go on without them`;
    onDamage({ part: "events", file: path, what, lostBytes: 0 });
  }

  function findSources({ log, devices, tenant }: EventQuery): Promise<EventSource[]> {
    const scope: PostingScope = devices === null ? "tenant" : "device";
    return sources(scope, devices ?? [tenant], typeof log === "number" ? [log] : log);
  }

  return {
    get shards() {
      const { shard } = indexing;
      return shard === null ? [] : [shard];
    },
    sequences: async (query) => {
      const { shard } = indexing;
      return shard === null ? [] : [createSequence(shard, await findSources(query), query)];
    },
    list: async (query) => readPage(await findSources(query), query),
    find: async (device, id) => {
      const found = await sources("device", [device], [logs.events]);
      const source = found.find(({ segment }) => segment.firstID <= id);
      return source === undefined ? null : findIn(source, id);
    },
    history: (device, recordsMax) =>
      mergeNewest(
        [logs.events, logs.connects].map((log) => readNewestFirst(() => sources("device", [device], [log]))),
        byID,
        recordsMax,
      ),
    batches: (device, recordsMax) =>
      mergeNewest([readNewestFirst(() => sources("device", [device], [logs.batches]))], byID, recordsMax),
    kept: (device, start, stop) => keptBetween(() => sources("device", [device], [logs.events]), start, stop),
    onRecord: indexing.onRecord,
    onSegmentClosed: indexing.onSegmentClosed,
    lastIndexedID: Math.max(0, ...index.indexed.keys()),
    attach: indexing.attach,
    forget: indexing.forget,
    remake: index.remake,
    close: index.close,
  };
}
