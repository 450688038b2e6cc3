import type { FileHandle } from "node:fs/promises";
import { peekRecord } from "./frame.js";
import { recordBytesLimit, scanRecords } from "./scan.js";
import { type Segment, segmentHeadBytes } from "./segment.js";

const readStepBytes = 1024 * 1024;
export const walkBufferBytes = readStepBytes + recordBytesLimit;

/** Something that a segment does not hold as it was written. */
export interface SegmentDamage {
  /** Offset in the file. */
  readonly position: number;
  /** Given up; 0 where records are missing though every byte is intact. */
  readonly bytes: number;
  /** Records that are not there: first and last id; null where none is known to be missing. */
  readonly lost: readonly [first: number, last: number] | null;
}

export interface SegmentWalk {
  /**
   * Reads the next records up to the durable end: offsets in the walk's buffer, valid until the next call, with
   * the file's offset of byte 0; null at the end, which may move on.
   */
  next(file: FileHandle, beforeID: number): Promise<{ offsets: readonly number[]; position: number } | null>;
  /** Offset behind the last intact record. */
  readonly intactBytes: number;
  /** Id of the last record found; that before the segment when none was. */
  readonly lastID: number;
  /** The last id that a damaged record still tells by its head; 0 where none does. */
  readonly damagedID: number;
  /** Nothing more will come: tells of a damaged end, and of ids missing up to `lastID` of the segment. */
  end(lastID: number): void;
}

/** Walks a segment from its head, past what is damaged, and tells `onDamage` of each such place. */
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

  /** Tells of what lies between the last record and `id`, the one that follows. */
  function tell(id: number): void {
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
        tell(id);
        lastID = id;
        intactBytes = from + at + 8 + buffer.readUInt32LE(at);
      }
      for (; !stretch.done; stretch = stretches.next()) damagedBytes += stretch.value[1] - stretch.value[0];
      damagedID = Math.max(damagedID, scan.damagedID);
      position = from + scan.next;
      // A file that is shorter than it was has lost what followed.
      if (scan.isLost || (bytesRead < want && scan.next >= bytesRead)) {
        damagedBytes += segment.bytes - position;
        position = segment.bytes;
      }
      return { offsets: scan.offsets, position: from };
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
      tell(last + 1);
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
