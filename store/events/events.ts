import { dirname } from "node:path";
import type { Client } from "@libsql/client";
import type { Damage } from "../files/damage.js";
import { isDamage } from "../files/database-faults.js";
import { openOrRemake, putAside } from "../files/database-file.js";
import type { RecordPeek } from "../journal/frame.js";
import type { Journal } from "../journal/journal.js";
import type { JournalRecord } from "../journal/record.js";
import { contentBytes, copyRecord } from "../journal/record-codecs.js";
import type { Segment } from "../journal/segment.js";
import { asError, StoreError } from "../lib/errors.js";
import { createSlice } from "../lib/turns.js";
import { createPageBudget } from "../metadata/db/page-bytes.js";
import {
  countsBySegment,
  indexedSegments,
  offsetsIn,
  openEventIndexFile,
  type Scope,
} from "./event-index.js";
import { type IndexWorker, startIndexWorker } from "./event-indexer.js";
import { createSegmentIndex, type Log, logs, type Received, type SegmentIndex } from "./event-postings.js";
import { readAt } from "./event-reading.js";

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
  /** Id of the first record of the newest segment in the index file; 0 where there is none. */
  readonly lastIndexedID: number;
  /** Binds the journal and indexes what earlier runs left. */
  attach(journal: Journal): Promise<void>;
  forget(segment: Segment): void;
  /** Puts the index file aside, which a check has found damaged, and makes it again from the segments. */
  remake(fault: string): Promise<void>;
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
  /** Only what was received in [start, stop), microseconds, is looked for: `matches` must say so, too. */
  readonly received?: ReceivedSpan;
  /** Looked at record by record: such a list is bounded by `scanRowsMax`. */
  readonly matches?: (record: JournalRecord) => boolean;
}

export interface ReceivedSpan {
  readonly start: number;
  readonly stop: number;
}

interface EventPage {
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
  /** Null where the index does not say. */
  readonly received: Received | null;
  offsets(skip: number, count: number): Promise<number[]> | number[];
  /** The records there, without those that are damaged; some at once, which share their bytes. */
  read(offsets: readonly number[]): AsyncGenerator<JournalRecord[], void>;
}

const beingMade = "cannot list events: their index is being made again";

/** Offsets fetched at once from the index. */
const readRows = 1000;

interface EventLogOptions {
  /** Of the index file. */
  readonly path: string;
  readonly onTrouble: (error: Error) => void;
  readonly onDamage: (damage: Damage) => void;
}

/** The index file with the thread that writes it. */
interface Index {
  readonly client: Client;
  readonly worker: IndexWorker;
  /** First ids of the segments that it covers, and their bytes. */
  readonly indexed: Map<number, number | null>;
}

/**
 * Opens the log; an index file that is damaged, now or later, is put aside and made again from the segments.
 * Lists that meet it meanwhile fail with StoreError UNAVAILABLE.
 */
export async function openEventLog({ path, onTrouble, onDamage }: EventLogOptions): Promise<EventLog> {
  /** Indexes of segments that the file does not cover yet: the newest, and those being written. */
  const live = new Map<Segment, SegmentIndex>();
  let journal: Journal | null = null;
  let remaking: Promise<void> | null = null;
  /** First ids of the segments whose damage has been told. */
  const looked = new Set<number>();
  let closed = false;
  let index = await openOrRemake(path, openIndex, tell);

  async function openIndex(): Promise<Index> {
    const client = await openEventIndexFile(path);
    try {
      const indexed = await indexedSegments(client);
      return { client, worker: startIndexWorker(path, onDamage), indexed };
    } catch (error) {
      client.close();
      throw error;
    }
  }

  function tell(fault: string, aside: string): void {
    const what = `${fault}; put aside as ${aside} and made again from the segments`;
    onDamage({ part: "events", file: path, what, lostBytes: 0 });
  }

  function remake(fault: string): Promise<void> {
    remaking ??= replaceIndex(fault).finally(() => {
      remaking = null;
    });
    return remaking;
  }

  async function replaceIndex(fault: string): Promise<void> {
    await index.worker.close();
    index.client.close();
    tell(fault, await putAside(path));
    index = await openIndex();
    await indexClosed();
  }

  /** Asks the file; one that turns out damaged is made again, and who asks comes back for the answer. */
  async function asked<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    if (remaking !== null) throw new StoreError("UNAVAILABLE", beingMade);
    try {
      return await ask(index.client);
    } catch (error) {
      if (remaking === null && !isDamage(error)) throw error;
      if (!closed) remake(asError(error).message).catch((failure: unknown) => onTrouble(asError(failure)));
      throw new StoreError("UNAVAILABLE", beingMade, {}, { cause: error });
    }
  }

  /** Indexes what is closed and not covered yet. */
  async function indexClosed(): Promise<void> {
    for (const segment of journal?.segments.slice(0, -1) ?? []) {
      if (!index.indexed.has(segment.firstID)) await indexSegment(segment);
    }
  }

  function liveOf(segment: Segment): SegmentIndex {
    let own = live.get(segment);
    if (own === undefined) {
      own = createSegmentIndex();
      live.set(segment, own);
    }
    return own;
  }

  function placeOf(segment: Segment) {
    const all = journal?.segments ?? [];
    const next = all[all.indexOf(segment) + 1];
    const endID = next?.firstID ?? Number.MAX_SAFE_INTEGER;
    return { segment: { ...segment }, endID, afterID: next?.afterID ?? 0 };
  }

  /** Names what a segment has lost, once; whoever came upon it goes on. */
  function lookAt(segment: Segment): void {
    if (looked.has(segment.firstID)) return;
    looked.add(segment.firstID);
    index.worker.ask({ kind: "look", ...placeOf(segment) }).catch(onFailure);
  }

  /** Segments that the index knows and that are not there, or not whole any more. */
  function lookForLosses(segments: readonly Segment[]): void {
    const [oldest] = segments;
    for (const segment of segments) {
      if (segment.bytes < (index.indexed.get(segment.firstID) ?? 0)) lookAt(segment);
    }
    for (const firstID of index.indexed.keys()) {
      // Retention takes them from the front. A segment of today's format knows by itself who was before it.
      const next = segments.find((segment) => segment.firstID >= firstID);
      if (oldest === undefined || firstID < oldest.firstID || next?.firstID === firstID) continue;
      if (next === undefined || next.previousID !== null) continue;
      const what = `the segment of records ${firstID} to ${next.afterID} is gone`;
      onDamage({
        part: "journal",
        file: dirname(next.path),
        what,
        lostBytes: index.indexed.get(firstID) ?? 0,
      });
    }
  }

  async function indexSegment(segment: Segment): Promise<void> {
    const { worker, indexed } = index;
    if (!indexed.has(segment.firstID)) {
      await worker.ask({ kind: "index", ...placeOf(segment) });
      indexed.set(segment.firstID, segment.bytes);
    }
    live.delete(segment);
  }

  /** What the thread could not do: a damaged file is made again, anything else told. */
  function onFailure(error: unknown): void {
    if (closed || remaking !== null) return;
    const failing = isDamage(error) ? remake(asError(error).message) : Promise.reject(error);
    failing.catch((failure: unknown) => onTrouble(asError(failure)));
  }

  function onSegmentClosed(segment: Segment): void {
    indexSegment(segment).catch((error: unknown) => {
      // One that retention has unlinked meanwhile needs no index.
      if (journal?.segments.includes(segment) !== false) onFailure(error);
    });
  }

  async function sources(scope: Scope, owners: readonly number[], wanted: readonly Log[]): Promise<Source[]> {
    // A segment may move from memory to the file while the file is asked.
    const before = new Map(live);
    const stored = new Map(
      (await asked((client) => countsBySegment(client, scope, owners, wanted))).map((row) => [
        row.firstID,
        row,
      ]),
    );
    const owned = new Set(owners);
    const isOwn = (record: JournalRecord) => owned.has(scope === "device" ? record.device : record.tenant);
    const all = [...(journal?.segments ?? [])].reverse();
    return all.flatMap((segment): Source[] => {
      const own = before.get(segment) ?? live.get(segment);
      const read = (offsets: readonly number[]) => readOwn(segment, offsets, isOwn);
      if (own !== undefined) return [{ ...liveSource(segment, own, scope, owners, wanted), read }];
      const { count, received } = stored.get(segment.firstID) ?? { count: 0, received: null };
      if (count === 0) return [];
      return [
        {
          ...{ segment, count, received, read },
          offsets: (skip, take) =>
            asked((client) => offsetsIn(client, scope, owners, wanted, segment.firstID, skip, take)),
        },
      ];
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
      liveOf(segment).add(position, record);
    },
    onSegmentClosed,
    lastIndexedID: Math.max(0, ...index.indexed.keys()),
    attach: async (opened) => {
      journal = opened;
      const present = new Set(opened.segments.map((segment) => segment.firstID));
      try {
        lookForLosses(opened.segments);
        for (const firstID of index.indexed.keys()) {
          if (!present.has(firstID)) await index.worker.ask({ kind: "forget", firstID });
        }
        await indexClosed();
      } catch (error) {
        if (!isDamage(error)) throw error;
        await remake(asError(error).message);
      }
    },
    forget: (segment) => {
      looked.delete(segment.firstID);
      index.indexed.delete(segment.firstID);
      live.delete(segment);
      index.worker.ask({ kind: "forget", firstID: segment.firstID }).catch(onFailure);
    },
    remake,
    close: async () => {
      closed = true;
      await remaking?.catch(() => undefined);
      await index.worker.close();
      index.client.close();
    },
  };
}

function liveSource(
  segment: Segment,
  index: SegmentIndex,
  scope: Scope,
  owners: readonly number[],
  wanted: readonly Log[],
): Omit<Source, "read"> {
  const count = scope === "device" ? index.countOfDevice : index.countOfTenant;
  const walk = scope === "device" ? index.ofDevice : index.ofTenant;
  const chains = wanted.flatMap((log) => owners.map((owner) => [log, owner] as const));
  return {
    segment,
    received: index.received,
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
  const page = createPageBudget();
  const items: JournalRecord[] = [];
  let toSkip = (query.page - 1) * query.limit;
  for (const source of sources) {
    if (items.length >= query.limit || page.full) break;
    if (toSkip >= source.count) {
      toSkip -= source.count;
      continue;
    }
    const offsets = await source.offsets(toSkip, query.limit - items.length);
    toSkip = 0;
    for await (const records of source.read(offsets)) {
      for (const record of records) if (page.fits(contentBytes(record))) items.push(copyRecord(record));
      if (page.full) break;
    }
  }
  return { items, count, truncated: page.full };
}

/** Records asked for at once. */
const rowsPerRead = 64;

/** One log's records, newest first, read as they are wanted. */
async function* newestOf(find: () => Promise<Source[]>): AsyncGenerator<JournalRecord> {
  for (const source of await find()) {
    for (let skip = 0; skip < source.count; skip += rowsPerRead) {
      for await (const records of source.read(await source.offsets(skip, rowsPerRead))) yield* records;
    }
  }
}

/** Of segments that hold the time, each asked for its offsets once: a device may have a million records in it. */
async function* keptBetween(
  find: () => Promise<Source[]>,
  start: number,
  stop: number,
): AsyncGenerator<JournalRecord> {
  for (const source of reaching(await find(), { start, stop })) {
    for await (const records of source.read(await source.offsets(0, source.count))) {
      for (const record of records) {
        if (record.receivedAt >= start && record.receivedAt < stop) yield record;
      }
    }
  }
}

/** The sources that may hold records received in the span. */
function reaching(sources: readonly Source[], { start, stop }: ReceivedSpan): Source[] {
  return sources.filter(
    ({ received }) => received === null || (received.oldest < stop && received.newest >= start),
  );
}

/** Merges logs by id, newest first. */
async function* mergeNewest(
  lists: readonly AsyncGenerator<JournalRecord>[],
  recordsMax: number,
): AsyncGenerator<JournalRecord> {
  try {
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
  } finally {
    // A list that is left holds a file open.
    await Promise.all(lists.map((list) => list.return(undefined)));
  }
}

/** Looks at rows newest first, at most `scanRowsMax`; the count is what was found up to there. */
async function listMatching(
  sources: readonly Source[],
  query: EventQuery,
  matches: (record: JournalRecord) => boolean,
): Promise<EventPage> {
  const from = (query.page - 1) * query.limit;
  const page = createPageBudget();
  const items: JournalRecord[] = [];
  let count = 0;
  let looked = 0;
  const slice = createSlice();
  for (const source of query.received === undefined ? sources : reaching(sources, query.received)) {
    for (let skip = 0; skip < source.count; skip += readRows) {
      if (looked >= scanRowsMax) return { items, count, truncated: true };
      const offsets = await source.offsets(skip, Math.min(readRows, scanRowsMax - looked));
      looked += offsets.length;
      for await (const records of source.read(offsets)) {
        for (const record of records) {
          // A payload may be long, and one page hold a hundred thousand of them.
          if (slice.isOver()) await slice.next();
          if (!matches(record)) continue;
          // Counted on when the page is full.
          if (count >= from && items.length < query.limit && page.fits(contentBytes(record))) {
            items.push(copyRecord(record));
          }
          count++;
        }
      }
    }
  }
  return { items, count, truncated: page.full };
}
