import { mkdir, open } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Damage } from "../files/damage.js";
import { asError, StoreError } from "../lib/errors.js";
import type { DurableFile } from "./durable-file.js";
import {
  isIntact,
  peekRecord,
  type RecordPeek,
  readSharedTopicStart,
  recordHeadBytes,
  recordSize,
} from "./frame.js";
import { walkSegment } from "./reader.js";
import { cutTail, listSegments, type Segment } from "./segment.js";
import { newestFormat } from "./segment-head.js";
import type { SegmentKeeping } from "./segment-keeping.js";
import { createSharedTopics, type SharedTopics } from "./shared-topics.js";
import { createStamps, type Stamps } from "./stamps.js";
import { readStampRuns, stampsFileName } from "./stamps-file.js";
import { describeDamage, type SegmentDamage, type SegmentWalk } from "./walk.js";

interface RecoverOptions {
  readonly dir: string;
  readonly keeping: Pick<SegmentKeeping, "reopen">;
  /** Called for each record of the newest segment, in order. */
  readonly onRecord?: (segment: Segment, position: number, record: RecordPeek) => void;
  readonly onTrouble?: (error: Error) => void;
  readonly onDamage?: (damage: Damage) => void;
}

/** A journal as the previous run left it. */
export interface Recovered {
  readonly segments: Segment[];
  /** Id of the last intact record; null if no record was ever kept. */
  readonly lastID: number | null;
  /** Receipt of the last record, microseconds; if the newest segment has no record, the time at which it was begun. */
  readonly lastReceivedAt: number;
  readonly stamps: Stamps;
  /** An upper bound of the ids of lost records after `lastID`; null if none are lost. */
  readonly lostThrough: number | null;
  /** Topics of the newest segment. */
  readonly topics: SharedTopics;
  /** The newest segment, open for appending; null if a new one must be begun. */
  readonly file: DurableFile | null;
}

/** Lists the segments, reads the newest, and cuts off the remains of a commit that never ended. */
export async function recoverJournal(options: RecoverOptions): Promise<Recovered> {
  const { dir } = options;
  await mkdir(dir, { recursive: true });
  const segments = await listSegments(dir, (file, what, lostBytes) =>
    options.onDamage?.({ part: "journal", file, what, lostBytes }),
  );
  const stamps = await recoverStamps(options, segments);
  const topics = createSharedTopics();
  const newest = segments.at(-1);
  reportMissing(options, segments);
  if (newest === undefined) {
    return { segments, lastID: null, lastReceivedAt: 0, stamps, lostThrough: null, topics, file: null };
  }
  let lastReceivedAt = newest.createdAt * 1000;
  const walk = await walkSegment(
    newest,
    Number.POSITIVE_INFINITY,
    (damage) => options.onDamage?.(journalDamage(newest, damage)),
    (buffer, at, position) => {
      const record = peekRecord(buffer, at);
      lastReceivedAt = record.receivedAt;
      stamps.saw(record.stamp);
      const envelope = readSharedTopicStart(buffer, at);
      if (envelope !== null) topics.add(envelope, position);
      options.onRecord?.(newest, position, record);
    },
  );
  const lostThrough = await lostAtEnd(newest, walk);
  const isWhole = await cutSegmentTail(newest, walk.intactBytes, lostThrough !== null, options);
  // Segments of earlier formats are still read, but never appended to.
  const file = isWhole && newest.format === newestFormat ? await options.keeping.reopen(newest) : null;
  return { segments, lastID: walk.lastID, lastReceivedAt, stamps, lostThrough, topics, file };
}

/** Reports missing segments: each segment names the one before it. */
function reportMissing({ dir, onDamage }: RecoverOptions, segments: readonly Segment[]): void {
  for (const [i, { path, previousID, afterID }] of segments.entries()) {
    const before = segments[i - 1];
    if (before === undefined || previousID === null || previousID === before.firstID) continue;
    const what = `segments between ${basename(before.path)} and ${basename(path)} are gone, with records up to ${afterID}`;
    onDamage?.({ part: "journal", file: dir, what, lostBytes: 0 });
  }
}

/** More records than a segment holds. */
const idsPerSegmentMax = 2 ** 20;

/**
 * Whether a whole record has followed the last intact one, in which case records are lost: a kill leaves the beginning
 * of a commit, of which only the last record is cut short.
 */
async function lostAtEnd(segment: Segment, walk: SegmentWalk): Promise<number | null> {
  if (walk.intactBytes === segment.bytes) return null;
  const isDamage = segment.salt === 0 ? await holdsOldRecords(segment, walk) : walk.damagedID > walk.lastID;
  return isDamage ? walk.lastID + idsPerSegmentMax : null;
}

/** Bytes of a tail that are examined: enough to classify it. */
const judgedBytes = 4 * 1024 * 1024;

/** For format 1: a possible payload must not be read as a record, but is reason enough to call the tail damaged. */
async function holdsOldRecords(segment: Segment, { intactBytes, lastID }: SegmentWalk): Promise<boolean> {
  const file = await open(segment.path, "r");
  try {
    const buffer = Buffer.alloc(Math.min(judgedBytes, segment.bytes - intactBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, intactBytes);
    let summedBytes = 0;
    for (let at = 0; at + recordHeadBytes <= bytesRead && summedBytes < judgedBytes; at++) {
      const size = recordSize(buffer, at, bytesRead);
      if (size === 0) continue;
      const { id } = peekRecord(buffer, at);
      if (!(id > lastID && id <= lastID + idsPerSegmentMax)) continue;
      if (isIntact(buffer, at, size, segment.salt)) return true;
      summedBytes += size;
    }
    return summedBytes >= judgedBytes;
  } finally {
    await file.close();
  }
}

export function journalDamage(segment: Segment, damage: SegmentDamage): Damage {
  const { path: file } = segment;
  return { part: "journal", file, what: describeDamage(damage), lostBytes: damage.bytes };
}

/** False if the disk could not hold a copy of the tail: the tail stays, and is not read. */
async function cutSegmentTail(
  segment: Segment,
  intactBytes: number,
  isDamage: boolean,
  options: RecoverOptions,
): Promise<boolean> {
  const torn = segment.bytes - intactBytes;
  if (torn === 0) return true;
  const kept = await cutTail(segment, intactBytes).then(
    (copy) => ({ isCut: true, where: `they are kept in ${copy}` }),
    (error: unknown) => ({ isCut: false, where: `they stay in ${segment.path}: ${asError(error).message}` }),
  );
  segment.bytes = intactBytes;
  if (isDamage) {
    const what = `${torn} bytes at its end are damaged, records behind the last intact one among them; ${kept.where}`;
    options.onDamage?.({ part: "journal", file: segment.path, what, lostBytes: torn });
  } else {
    options.onTrouble?.(new Error(`cut ${torn} bytes of an unfinished commit; ${kept.where}`));
  }
  return kept.isCut;
}

async function recoverStamps(options: RecoverOptions, segments: readonly Segment[]): Promise<Stamps> {
  try {
    const runs = await readStampRuns(options.dir);
    if (runs !== null) return createStamps(runs);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const what = `cannot be read (${asError(error).message}): stamps go on behind every segment's beginning`;
    options.onDamage?.({ part: "journal", file: join(options.dir, stampsFileName), what, lostBytes: 0 });
  }
  const stamps = createStamps();
  const newest = Math.max(0, ...segments.map(({ createdAt }) => createdAt));
  if (newest > 0) stamps.sawAll(newest * 1000);
  return stamps;
}
