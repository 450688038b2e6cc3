import { type FileHandle, open } from "node:fs/promises";
import { peekRecord } from "./frame.js";
import type { Segment } from "./segment.js";
import { segmentHeadBytes } from "./segment-head.js";
import type { Tail } from "./tail.js";
import { createTopicFinder, type Topics } from "./topics.js";
import {
  createSegmentWalk,
  type SegmentDamage,
  type SegmentWalk,
  type WalkedPart,
  walkBufferBytes,
} from "./walk.js";

export interface JournalBatch {
  readonly segment: Segment;
  readonly buffer: Buffer;
  /** Offsets of the records in `buffer`, ascending by id. Valid until the next call. */
  readonly offsets: readonly number[];
  /** Offset in the file of buffer byte 0. */
  readonly position: number;
  /** For `decodeRecord`. */
  readonly topics: Topics;
}

export interface JournalReader {
  /** The next committed records, or null if there are none yet. */
  next(): Promise<JournalBatch | null>;
  /** The id up to which every record was handed out or passed over. */
  readonly lastID: number;
  close(): Promise<void>;
}

/** The journal as a reader needs it. */
interface ReaderSource {
  /** The journal's own list. */
  readonly segments: readonly Segment[];
  /** The id of the last durable record. */
  readonly committedID: () => number;
  readonly tail: Pick<Tail, "at" | "follow">;
  readonly onDamage: (segment: Segment, damage: SegmentDamage) => void;
}

/** Reads the committed records after `afterID`, through segments as they are added, past damage. */
export async function openJournalReader(source: ReaderSource, afterID: number): Promise<JournalReader> {
  const { segments, committedID, tail, onDamage } = source;
  let segment: Segment | undefined;
  let walk: SegmentWalk | undefined;
  let finder = createTopicFinder(0);
  let file: FileHandle | null = null;
  let lastID = afterID;
  const readBuffer = Buffer.allocUnsafeSlow(walkBufferBytes);
  const leave = tail.follow();

  const following = (): Segment | undefined => segment && segments[segments.indexOf(segment) + 1];

  /** Opens the segment that holds the first record after `lastID`, or the one after the present segment. */
  async function advance(): Promise<boolean> {
    const next =
      segment === undefined
        ? (segments.findLast((one) => one.firstID <= lastID + 1) ?? segments[0])
        : following();
    if (next === undefined) return false;
    // Segments that a follower has not read are never unlinked by the journal: somebody else has removed them.
    if (segment === undefined && lastID > 0 && next.afterID > lastID) {
      onDamage(next, { position: 0, bytes: 0, lost: [lastID + 1, next.afterID] });
    }
    walk?.end(next.afterID);
    await file?.close();
    segment = next;
    walk = createSegmentWalk(next, readBuffer, (damage) => onDamage(next, damage));
    file = await open(next.path, "r");
    finder = createTopicFinder(next.salt);
    return true;
  }

  /** Walks the next records, if they are still in memory. */
  function fromTail(through: SegmentWalk): WalkedPart | undefined {
    const chunk = segment && tail.at(segment, through.position);
    return chunk && through.pass(chunk);
  }

  async function next(): Promise<JournalBatch | null> {
    for (;;) {
      if (lastID >= committedID()) return null;
      // A later segment's first id voids the records that a failed commit has left.
      const before = following()?.firstID ?? Number.POSITIVE_INFINITY;
      const read = walk && file && (fromTail(walk) ?? (await walk.next(file, before)));
      if (segment === undefined || file === null || !read) {
        if (await advance()) continue;
        // The end of the newest segment is damaged: up to here there are no more records to hand out.
        walk?.end(committedID());
        lastID = committedID();
        return null;
      }
      const { buffer } = read;
      const [first] = read.offsets;
      if (first === undefined) continue;
      // Only where a reader begins in the midst of records are there some that it has passed.
      const isNew = (at: number) => peekRecord(buffer, at).id > lastID;
      const offsets = isNew(first) ? read.offsets : read.offsets.filter(isNew);
      const last = offsets.at(-1);
      if (last === undefined) continue;
      lastID = peekRecord(buffer, last).id;
      const topics = await finder.find(file, buffer, read.position, offsets);
      return { segment, buffer, offsets, position: read.position, topics };
    }
  }

  return {
    next,
    get lastID() {
      return lastID;
    },
    close: async () => {
      leave();
      await file?.close();
      file = null;
    },
  };
}

/** Walks one segment from its head to its durable end. Resolves with the finished walk. */
export async function walkSegment(
  segment: Segment,
  beforeID: number,
  onDamage: (damage: SegmentDamage) => void,
  visit: (buffer: Buffer, at: number, position: number) => void,
): Promise<SegmentWalk> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(walkBufferBytes, Math.max(segment.bytes, segmentHeadBytes)));
  const walk = createSegmentWalk(segment, buffer, onDamage);
  const file = await open(segment.path, "r");
  try {
    for (let read = await walk.next(file, beforeID); read; read = await walk.next(file, beforeID)) {
      for (const at of read.offsets) visit(buffer, at, read.position + at);
    }
  } finally {
    await file.close();
  }
  return walk;
}
