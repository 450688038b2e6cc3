import { asError } from "./errors.js";
import {
  countsBySegment,
  indexedSegments,
  offsetsIn,
  openEventIndexFile,
  type Scope,
} from "./event-index.js";
import { startIndexWorker } from "./event-indexer.js";
import { createSegmentIndex, type Log, logs, type SegmentIndex } from "./event-postings.js";
import { readAt } from "./event-reading.js";
import type { Journal, RecordPeek } from "./journal.js";
import type { JournalRecord } from "./journal-record.js";
import type { Segment } from "./journal-segment.js";

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
  /** Binds the journal and indexes what earlier runs left. */
  attach(journal: Journal): Promise<void>;
  forget(segment: Segment): void;
  close(): Promise<void>;
}

export interface EventQuery {
  /** One log, or several merged by id. */
  readonly log: Log | readonly Log[];
  readonly tenant: number;
  /** Record ids; null means every device of the tenant. */
  readonly devices: readonly number[] | null;
  readonly page: number;
  readonly limit: number;
  /** Looked at record by record: such a list is bounded by `scanRowsMax`. */
  readonly matches?: (record: JournalRecord) => boolean;
}

export interface EventPage {
  readonly items: JournalRecord[];
  readonly count: number;
  readonly truncated: boolean;
}

/** Rows that a filter on topic or IP may look at before it says so. */
export const scanRowsMax = 100_000;

/** One segment as a list sees it. */
interface Source {
  readonly segment: Segment;
  readonly count: number;
  offsets(skip: number, count: number): Promise<number[]> | number[];
}

/** Offsets fetched at once from the index. */
const readRows = 1000;

export async function openEventLog(path: string, onTrouble: (error: Error) => void): Promise<EventLog> {
  const client = await openEventIndexFile(path);
  const indexed = new Set(await indexedSegments(client));
  /** Indexes of segments that the file does not cover yet: the newest, and those being written. */
  const live = new Map<Segment, SegmentIndex>();
  const worker = startIndexWorker(path);
  let journal: Journal | null = null;

  function liveOf(segment: Segment): SegmentIndex {
    let index = live.get(segment);
    if (index === undefined) {
      index = createSegmentIndex();
      live.set(segment, index);
    }
    return index;
  }

  function endOf(segment: Segment): number {
    const all = journal?.segments ?? [];
    return all[all.indexOf(segment) + 1]?.firstID ?? Number.MAX_SAFE_INTEGER;
  }

  async function indexSegment(segment: Segment): Promise<void> {
    if (!indexed.has(segment.firstID)) {
      await worker.ask({ kind: "index", segment: { ...segment }, endID: endOf(segment) });
      indexed.add(segment.firstID);
    }
    live.delete(segment);
  }

  function onSegmentClosed(segment: Segment): void {
    indexSegment(segment).catch((error: unknown) => {
      // One that retention has unlinked meanwhile needs no index.
      if (journal?.segments.includes(segment) !== false) onTrouble(asError(error));
    });
  }

  async function sources(scope: Scope, owners: readonly number[], wanted: readonly Log[]): Promise<Source[]> {
    // A segment may move from memory to the file while the file is asked.
    const before = new Map(live);
    const stored = new Map(
      (await countsBySegment(client, scope, owners, wanted)).map((row) => [row.firstID, row.count]),
    );
    const all = [...(journal?.segments ?? [])].reverse();
    return all.flatMap((segment): Source[] => {
      const index = before.get(segment) ?? live.get(segment);
      if (index !== undefined) return [liveSource(segment, index, scope, owners, wanted)];
      const count = stored.get(segment.firstID) ?? 0;
      if (count === 0) return [];
      return [
        {
          segment,
          count,
          offsets: (skip, take) => offsetsIn(client, scope, owners, wanted, segment.firstID, skip, take),
        },
      ];
    });
  }

  async function list(query: EventQuery): Promise<EventPage> {
    const scope: Scope = query.devices === null ? "tenant" : "device";
    const wanted = typeof query.log === "number" ? [query.log] : query.log;
    const found = await sources(scope, query.devices ?? [query.tenant], wanted);
    return query.matches === undefined ? listPlain(found, query) : listMatching(found, query, query.matches);
  }

  return {
    list,
    history: (device, recordsMax) =>
      mergeNewest(
        [logs.events, logs.connects].map((log) => newestOf(() => sources("device", [device], [log]))),
        recordsMax,
      ),
    kept: (device, start, stop) => keptBetween(() => sources("device", [device], [logs.events]), start, stop),
    onRecord: (segment, position, record) => {
      liveOf(segment).add(position, record.kind, record.device, record.tenant);
    },
    onSegmentClosed,
    attach: async (opened) => {
      journal = opened;
      const present = new Set(opened.segments.map((segment) => segment.firstID));
      for (const firstID of indexed) {
        if (!present.has(firstID)) await worker.ask({ kind: "forget", firstID });
      }
      for (const segment of opened.segments.slice(0, -1)) {
        if (!indexed.has(segment.firstID)) await indexSegment(segment);
      }
    },
    forget: (segment) => {
      indexed.delete(segment.firstID);
      live.delete(segment);
      worker
        .ask({ kind: "forget", firstID: segment.firstID })
        .catch((error: unknown) => onTrouble(asError(error)));
    },
    close: async () => {
      await worker.close();
      client.close();
    },
  };
}

function liveSource(
  segment: Segment,
  index: SegmentIndex,
  scope: Scope,
  owners: readonly number[],
  wanted: readonly Log[],
): Source {
  const count = scope === "device" ? index.countOfDevice : index.countOfTenant;
  const walk = scope === "device" ? index.ofDevice : index.ofTenant;
  const chains = wanted.flatMap((log) => owners.map((owner) => [log, owner] as const));
  return {
    segment,
    count: chains.reduce((sum, [log, owner]) => sum + count(log, owner), 0),
    offsets: (skip, take) => {
      const [only] = chains;
      if (chains.length === 1 && only !== undefined) return walk(...only, skip, take);
      const all = chains.flatMap(([log, owner]) => walk(log, owner, 0, skip + take));
      return all.sort((a, b) => b - a).slice(skip, skip + take);
    },
  };
}

async function listPlain(sources: readonly Source[], query: EventQuery): Promise<EventPage> {
  const count = sources.reduce((sum, source) => sum + source.count, 0);
  const { items, truncated } = await takeNewest(sources, (query.page - 1) * query.limit, query.limit);
  return { items, count, truncated };
}

/** Payload bytes of one page: a page of large messages ends early and says so. */
export const pageBytesMax = 32 * 1024 * 1024;

async function takeNewest(
  sources: readonly Source[],
  skip: number,
  limit: number,
): Promise<{ items: JournalRecord[]; truncated: boolean }> {
  const items: JournalRecord[] = [];
  let bytes = 0;
  let toSkip = skip;
  for (const source of sources) {
    if (items.length >= limit) break;
    if (toSkip >= source.count) {
      toSkip -= source.count;
      continue;
    }
    const offsets = await source.offsets(toSkip, limit - items.length);
    toSkip = 0;
    for (let at = 0; at < offsets.length; at += rowsPerRead) {
      const records = await readAt(source.segment, offsets.slice(at, at + rowsPerRead));
      for (const record of records) bytes += record.payload.length;
      if (bytes > pageBytesMax && items.length > 0) return { items, truncated: true };
      items.push(...records);
    }
  }
  return { items, truncated: false };
}

/** Records read at once: payloads may be large. */
const rowsPerRead = 64;

/** One log's records, newest first, read as they are wanted. */
async function* newestOf(find: () => Promise<Source[]>): AsyncGenerator<JournalRecord> {
  const found = await find();
  for (let skip = 0; ; skip += rowsPerRead) {
    const { items: records } = await takeNewest(found, skip, rowsPerRead);
    yield* records;
    if (records.length < rowsPerRead) return;
  }
}

/** A clock that was set moves receipts within a segment by no more than that. */
const clockSlackMicros = 3_600e6;

/** Of segments that hold the time, each asked for its offsets once: a device may have a million records in it. */
async function* keptBetween(
  find: () => Promise<Source[]>,
  start: number,
  stop: number,
): AsyncGenerator<JournalRecord> {
  for (const source of await find()) {
    const begun = source.segment.createdAt * 1000;
    if (begun - clockSlackMicros >= stop) continue;
    const offsets = await source.offsets(0, source.count);
    for (let at = 0; at < offsets.length; at += rowsPerRead) {
      const records = await readAt(source.segment, offsets.slice(at, at + rowsPerRead));
      for (const record of records) {
        if (record.receivedAt >= start && record.receivedAt < stop) yield record;
      }
    }
    if (begun + clockSlackMicros < start) return;
  }
}

/** Merges logs by id, newest first. */
async function* mergeNewest(
  lists: readonly AsyncGenerator<JournalRecord>[],
  recordsMax: number,
): AsyncGenerator<JournalRecord> {
  const heads = await Promise.all(lists.map((list) => list.next()));
  for (let count = 0; count < recordsMax; count++) {
    let newest = -1;
    for (const [i, head] of heads.entries()) {
      const best = heads[newest];
      if (!head.done && (best === undefined || best.done || head.value.id > best.value.id)) newest = i;
    }
    const head = heads[newest];
    const list = lists[newest];
    if (head === undefined || head.done || list === undefined) return;
    yield head.value;
    heads[newest] = await list.next();
  }
}

/** Looks at rows newest first, at most `scanRowsMax`; the count is what was found up to there. */
async function listMatching(
  sources: readonly Source[],
  query: EventQuery,
  matches: (record: JournalRecord) => boolean,
): Promise<EventPage> {
  const from = (query.page - 1) * query.limit;
  const items: JournalRecord[] = [];
  let count = 0;
  let looked = 0;
  for (const source of sources) {
    for (let skip = 0; skip < source.count; skip += readRows) {
      if (looked >= scanRowsMax) return { items, count, truncated: true };
      const offsets = await source.offsets(skip, Math.min(readRows, scanRowsMax - looked));
      looked += offsets.length;
      for (let at = 0; at < offsets.length; at += rowsPerRead) {
        for (const record of await readAt(source.segment, offsets.slice(at, at + rowsPerRead))) {
          if (!matches(record)) continue;
          if (count >= from && items.length < query.limit) items.push(record);
          count++;
        }
      }
    }
  }
  return { items, count, truncated: false };
}
