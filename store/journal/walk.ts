import type { FileHandle } from "node:fs/promises";
import { peekRecord } from "./frame.js";
import { recordBytesLimit, scanRecords } from "./scan.js";
import type { Segment } from "./segment.js";
import { segmentHeadBytes } from "./segment-head.js";
import type { TailChunk } from "./tail.js";

const readStepBytes = 1024 * 1024;
export const walkBufferBytes = readStepBytes + recordBytesLimit;

/** A part of a segment that is not as it was written. */
export interface SegmentDamage {
  /** Offset in the file. */
  readonly position: number;
  /** Bytes given up; 0 if records are missing though every byte is intact. */
  readonly bytes: number;
  /** First and last id of the missing records; null if none are known to be missing. */
  readonly lost: readonly [first: number, last: number] | null;
}

/** Records that a walk has come to. */
export interface WalkedPart {
  readonly buffer: Buffer;
  /** Where the records in the buffer begin. */
  readonly offsets: readonly number[];
  /** Offset in the file of the buffer's byte 0. */
  readonly position: number;
}

export interface SegmentWalk {
  /** Reads the next records up to the durable end: valid until the next call. Null at the end, which may move on. */
  next(file: FileHandle, beforeID: number): Promise<WalkedPart | null>;
  /** Goes past records that begin at `position` and are in memory. */
  pass(chunk: TailChunk): WalkedPart;
  /** Where the next record begins. */
  readonly position: number;
  /** Offset after the last intact record. */
  readonly intactBytes: number;
  /** Id of the last record found; before the first, the last id before the segment. */
  readonly lastID: number;
  /** The last id that can still be read from the head of a damaged record, or 0. */
  readonly damagedID: number;
  /** Ends the walk: reports a damaged end, and missing ids up to the segment's `lastID`. */
  end(lastID: number): void;
}

/** Walks a segment from its head, past damage, and reports each damaged place to `onDamage`. */
export function createSegmentWalk(
  segment: Segment,
  buffer: Buffer,
  onDamage: (damage: SegmentDamage) => void,
): SegmentWalk {
  let position = segmentHeadBytes;
  let intactBytes = segmentHeadBytes;
  let lastID = segment.firstID - 1;
  /** Bytes given up since the last intact record. */
  let damagedBytes = 0;
  let damagedID = 0;

  /** Reports the damage between the last record and `id`, the one that follows. */
  function reportRecord(id: number): void {
    const lost = id > lastID + 1 ? ([lastID + 1, id - 1] as const) : null;
    if (lost !== null || damagedBytes > 0) onDamage({ position: intactBytes, bytes: damagedBytes, lost });
    damagedBytes = 0;
  }

  return {
    next: async (file, beforeID) => {
      if (position >= segment.bytes) return null;
      const from = position;
      const want = Math.min(buffer.length, segment.bytes - from);
      const { bytesRead } = await file.read(buffer, 0, want, from);
      const isLast = bytesRead < want || from + want >= segment.bytes;
      const rules = { salt: segment.salt, after: lastID, before: beforeID };
      const scan = scanRecords(buffer, bytesRead, isLast, rules);
      const stretches = scan.damaged.values();
      let stretch = stretches.next();
      for (const at of scan.offsets) {
        for (; !stretch.done && stretch.value[0] < at; stretch = stretches.next()) {
          damagedBytes += stretch.value[1] - stretch.value[0];
        }
        const { id } = peekRecord(buffer, at);
        reportRecord(id);
        lastID = id;
        intactBytes = from + at + 8 + buffer.readUInt32LE(at);
      }
      for (; !stretch.done; stretch = stretches.next()) damagedBytes += stretch.value[1] - stretch.value[0];
      damagedID = Math.max(damagedID, scan.damagedID);
      position = from + scan.next;
      // The file has become shorter and has lost what followed.
      if (scan.isLost || (bytesRead < want && scan.next >= bytesRead)) {
        damagedBytes += segment.bytes - position;
        position = segment.bytes;
      }
      return { buffer, offsets: scan.offsets, position: from };
    },
    pass: ({ bytes, offsets, lastID: last }) => {
      const from = position;
      const first = offsets[0];
      if (first !== undefined) reportRecord(peekRecord(bytes, first).id);
      lastID = last;
      position += bytes.length;
      intactBytes = position;
      return { buffer: bytes, offsets, position: from };
    },
    get position() {
      return position;
    },
    get intactBytes() {
      return intactBytes;
    },
    get lastID() {
      return lastID;
    },
    get damagedID() {
      return damagedID;
    },
    end: (last) => {
      reportRecord(last + 1);
      lastID = Math.max(lastID, last);
    },
  };
}

/** A clause for the log. */
export function describeDamage({ position, bytes, lost }: SegmentDamage): string {
  const where = bytes > 0 ? `${bytes} bytes at ${position} are damaged` : `at ${position}`;
  if (lost === null) return `${where}; no record is missing`;
  const [first, last] = lost;
  const records = first === last ? `record ${first} is` : `records ${first} to ${last} are`;
  return `${records} lost, ${where}`;
}
