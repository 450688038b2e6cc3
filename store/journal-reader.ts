import { type FileHandle, open } from "node:fs/promises";
import { peekRecord } from "./journal-record.js";
import { readBufferBytes, readRecords, type Segment, segmentHeadBytes } from "./journal-segment.js";

export interface JournalBatch {
  readonly segment: Segment;
  readonly buffer: Buffer;
  /** Offsets of the records in `buffer`, ascending by id. Valid until the next call. */
  readonly offsets: readonly number[];
  /** Offset in the file of buffer byte 0. */
  readonly position: number;
  readonly damagedBytes: number;
}

export interface JournalReader {
  /** The next committed records, or null when there are none yet. */
  next(): Promise<JournalBatch | null>;
  /** The id up to which everything was handed out or passed over. */
  readonly lastID: number;
  close(): Promise<void>;
}

/**
 * Reads the committed records behind `afterID`, over segments as they come. `segments` is the journal's own list,
 * `committedID` its durable end.
 */
export async function openJournalReader(
  segments: readonly Segment[],
  afterID: number,
  committedID: () => number,
): Promise<JournalReader> {
  let segment: Segment | undefined;
  let file: FileHandle | null = null;
  let position = segmentHeadBytes;
  let lastID = afterID;
  const buffer = Buffer.allocUnsafeSlow(readBufferBytes);

  /** The segment that holds the first record behind `lastID`, or the one after the present. */
  async function advance(): Promise<boolean> {
    const next =
      segment === undefined
        ? (segments.findLast((one) => one.firstID <= lastID + 1) ?? segments[0])
        : segments[segments.indexOf(segment) + 1];
    if (next === undefined) return false;
    await file?.close();
    segment = next;
    position = segmentHeadBytes;
    file = await open(next.path, "r");
    return true;
  }

  async function next(): Promise<JournalBatch | null> {
    for (;;) {
      if (lastID >= committedID()) return null;
      if (segment === undefined || file === null || position >= segment.bytes) {
        if (await advance()) continue;
        // The end of the newest segment is damaged: there is nothing more to hand out up to here.
        lastID = committedID();
        return null;
      }
      const from = position;
      const read = await readRecords(file, segment, from, buffer);
      position = read.next;
      // A later segment's first id voids what a failed commit left behind.
      const end = segments[segments.indexOf(segment) + 1]?.firstID ?? Number.POSITIVE_INFINITY;
      const offsets = read.offsets.filter((at) => {
        const { id } = peekRecord(buffer, at);
        return id > lastID && id < end;
      });
      const last = offsets.at(-1);
      if (last === undefined && read.damagedBytes === 0) continue;
      if (last !== undefined) lastID = peekRecord(buffer, last).id;
      return { segment, buffer, offsets, position: from, damagedBytes: read.damagedBytes };
    }
  }

  return {
    next,
    get lastID() {
      return lastID;
    },
    close: async () => {
      await file?.close();
      file = null;
    },
  };
}
