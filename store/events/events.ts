import { dirname } from "node:path";
import type { Damage } from "../files/damage.js";
import { isDamage } from "../files/database-faults.js";
import type { RecordPeek } from "../journal/frame.js";
import type { Journal } from "../journal/journal.js";
import type { JournalRecord } from "../journal/record.js";
import type { Segment } from "../journal/segment.js";
import { asError } from "../lib/errors.js";
import { countsBySegment, offsetsIn, type Scope } from "./event-index.js";
import { type EventPage, type EventQuery, pageOf } from "./event-pages.js";
import { createSegmentIndex, type Log, logs, type SegmentIndex } from "./event-postings.js";
import { readAt } from "./event-reading.js";
import { keptBetween, liveSource, mergeNewest, newestOf, type Source } from "./event-source.js";
import { type EventIndexOptions, openRepairedIndex } from "./repaired-index.js";

/** The log over the journal's segments: what came up, and who came and went, newest first. */
export interface EventLog {
  list(query: EventQuery): Promise<EventPage>;
  /** The newest records of a device of every log, newest first. */
  history(device: number, recordsMax: number): AsyncIterable<JournalRecord>;
  /** The messages of a device received in [start, stop), microseconds; newest first, read as they are wanted. */
  kept(device: number, start: number, stop: number): AsyncIterable<JournalRecord>;
  /** The journal reports here: records as they become durable, segments as they close. */
  onRecord(segment: Segment, position: number, record: RecordPeek): void;
  onSegmentClosed(segment: Segment): void;
  /** Id of the first record of the newest segment in the index file; 0 where it is empty. */
  readonly lastIndexedID: number;
  /** Binds the journal and indexes what earlier runs left. */
  attach(journal: Journal): Promise<void>;
  forget(segment: Segment): void;
  /** Puts the index file aside, which a check has found damaged, and makes it again from the segments. */
  remake(fault: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens the log. Lists that meet a damaged index file fail with StoreError UNAVAILABLE until it is made again. */
export async function openEventLog(options: EventIndexOptions): Promise<EventLog> {
  const { path, onDamage } = options;
  /** Indexes of segments that the file does not cover yet: the newest, and those being written. */
  const live = new Map<Segment, SegmentIndex>();
  let journal: Journal | null = null;
  /** First ids of the segments whose damage has been told. */
  const looked = new Set<number>();
  const index = await openRepairedIndex(options, indexClosed);

  /** Indexes the closed segments that the file does not cover yet. */
  async function indexClosed(): Promise<void> {
    for (const segment of journal?.segments.slice(0, -1) ?? []) {
      if (!index.indexed.has(segment.firstID)) await indexSegment(segment);
    }
  }

  async function indexSegment(segment: Segment): Promise<void> {
    const { indexed } = index;
    if (!indexed.has(segment.firstID)) {
      await index.request({ kind: "index", ...withNext(segment) });
      indexed.set(segment.firstID, segment.bytes);
    }
    live.delete(segment);
  }

  function liveOf(segment: Segment): SegmentIndex {
    let own = live.get(segment);
    if (own === undefined) {
      own = createSegmentIndex();
      live.set(segment, own);
    }
    return own;
  }

  /** A segment and where the next one begins. */
  function withNext(segment: Segment) {
    const all = journal?.segments ?? [];
    const next = all[all.indexOf(segment) + 1];
    const endID = next?.firstID ?? Number.MAX_SAFE_INTEGER;
    return { segment: { ...segment }, endID, afterID: next?.afterID ?? 0 };
  }

  /** Reports what a segment has lost, once; the reader that found it goes on. */
  function lookAt(segment: Segment): void {
    if (looked.has(segment.firstID)) return;
    looked.add(segment.firstID);
    index.request({ kind: "look", ...withNext(segment) }).catch(index.onFailure);
  }

  async function sources(scope: Scope, owners: readonly number[], wanted: readonly Log[]): Promise<Source[]> {
    // A segment may move from memory to the file while the file is asked.
    const before = new Map(live);
    const counts = await index.ask((client) => countsBySegment(client, scope, owners, wanted));
    const stored = new Map(counts.map((row) => [row.firstID, row]));
    const owned = new Set(owners);
    const isOwn = (record: JournalRecord) => owned.has(scope === "device" ? record.device : record.tenant);
    const all = [...(journal?.segments ?? [])].reverse();
    return all.flatMap((segment): Source[] => {
      const own = before.get(segment) ?? live.get(segment);
      const read = (offsets: readonly number[]) => readOwn(segment, offsets, isOwn);
      if (own !== undefined) return [{ ...liveSource(segment, own, scope, owners, wanted), read }];
      const { count, received } = stored.get(segment.firstID) ?? { count: 0, received: null };
      if (count === 0) return [];
      const offsets = (skip: number, take: number) =>
        index.ask((client) => offsetsIn(client, scope, owners, wanted, segment.firstID, skip, take));
      return [{ segment, count, received, offsets, read }];
    });
  }

  /** A damaged index must not show one tenant's records to another. */
  async function* readOwn(
    segment: Segment,
    offsets: readonly number[],
    isOwn: (record: JournalRecord) => boolean,
  ): AsyncGenerator<JournalRecord[], void> {
    let foreign = false;
    for await (const records of readAt(segment, offsets, () => lookAt(segment))) {
      const own = records.filter(isOwn);
      foreign ||= own.length < records.length;
      yield own;
    }
    if (!foreign) return;
    const what = `the index of segment ${segment.firstID} names records of others; lists go on without them`;
    onDamage({ part: "events", file: path, what, lostBytes: 0 });
  }

  async function attach(opened: Journal): Promise<void> {
    journal = opened;
    const { segments } = opened;
    const present = new Set(segments.map((segment) => segment.firstID));
    try {
      for (const segment of shortened(segments, index.indexed)) lookAt(segment);
      for (const loss of lostSegments(segments, index.indexed)) onDamage(loss);
      for (const firstID of index.indexed.keys()) {
        if (!present.has(firstID)) await index.request({ kind: "forget", firstID });
      }
      await indexClosed();
    } catch (error) {
      if (!isDamage(error)) throw error;
      await index.remake(asError(error).message);
    }
  }

  return {
    list: async (query) => {
      const scope: Scope = query.devices === null ? "tenant" : "device";
      const wanted = typeof query.log === "number" ? [query.log] : query.log;
      return pageOf(await sources(scope, query.devices ?? [query.tenant], wanted), query);
    },
    history: (device, recordsMax) =>
      mergeNewest(
        [logs.events, logs.connects].map((log) => newestOf(() => sources("device", [device], [log]))),
        recordsMax,
      ),
    kept: (device, start, stop) => keptBetween(() => sources("device", [device], [logs.events]), start, stop),
    onRecord: (segment, position, record) => {
      liveOf(segment).add(position, record);
    },
    onSegmentClosed: (segment) => {
      indexSegment(segment).catch((error: unknown) => {
        // One that retention has unlinked meanwhile needs no index.
        if (journal?.segments.includes(segment) !== false) index.onFailure(error);
      });
    },
    lastIndexedID: Math.max(0, ...index.indexed.keys()),
    attach,
    forget: (segment) => {
      looked.delete(segment.firstID);
      index.indexed.delete(segment.firstID);
      live.delete(segment);
      index.request({ kind: "forget", firstID: segment.firstID }).catch(index.onFailure);
    },
    remake: index.remake,
    close: index.close,
  };
}

type Indexed = ReadonlyMap<number, number | null>;

/** Segments that are shorter than they were when they were indexed. */
const shortened = (segments: readonly Segment[], indexed: Indexed): Segment[] =>
  segments.filter((segment) => segment.bytes < (indexed.get(segment.firstID) ?? 0));

/** Segments that the index knows and that are gone. */
function* lostSegments(segments: readonly Segment[], indexed: Indexed): Generator<Damage> {
  const [oldest] = segments;
  for (const [firstID, bytes] of indexed) {
    // Retention takes them from the front. A segment of today's format knows by itself who was before it.
    const next = segments.find((segment) => segment.firstID >= firstID);
    if (oldest === undefined || firstID < oldest.firstID || next?.firstID === firstID) continue;
    if (next === undefined || next.previousID !== null) continue;
    const what = `the segment of records ${firstID} to ${next.afterID} is gone`;
    yield { part: "journal", file: dirname(next.path), what, lostBytes: bytes ?? 0 };
  }
}
