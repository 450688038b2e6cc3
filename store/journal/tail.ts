/** The records committed last, in memory: a follower that keeps up need not read them back from the disk. */
import { peekRecord, prefixBytes } from "./frame.js";
import type { Segment } from "./segment.js";

/** What one commit wrote. Its bytes never change. */
export interface TailChunk {
  readonly segment: Segment;
  /** Offset in the file. */
  readonly position: number;
  readonly bytes: Buffer;
  /** Offsets of the records in `bytes`, ascending by id. */
  readonly offsets: readonly number[];
  readonly lastID: number;
}

export interface Tail {
  /** Takes a copy of what has just become durable, if somebody reads the journal. */
  keep(segment: Segment, position: number, views: readonly Buffer[]): void;
  /** What begins at the position, if it is still there. */
  at(segment: Segment, position: number): TailChunk | undefined;
  /** A reader begins; it calls what is returned when it ends, once or more often. */
  follow(): () => void;
}

/** Some twenty commits at full speed: a follower that is farther behind reads larger pieces from the disk. */
const tailBytesMax = 4 << 20;

export function createTail(bytesMax = tailBytesMax): Tail {
  /** Of the newest segment, by position, in the order of the commits. */
  const chunks = new Map<number, TailChunk>();
  let newest: Segment | null = null;
  let bytesHeld = 0;
  let followers = 0;

  function clear(): void {
    chunks.clear();
    bytesHeld = 0;
  }

  return {
    keep: (segment, position, views) => {
      if (segment !== newest) clear();
      newest = segment;
      const length = views.reduce((sum, view) => sum + view.length, 0);
      if (followers === 0 || length > bytesMax) return;
      const bytes = Buffer.concat(views, length);
      const offsets: number[] = [];
      for (let at = 0; at < bytes.length; at += prefixBytes + bytes.readUInt32LE(at)) offsets.push(at);
      const last = offsets.at(-1);
      if (last === undefined) return;
      chunks.set(position, { segment, position, bytes, offsets, lastID: peekRecord(bytes, last).id });
      bytesHeld += bytes.length;
      for (const [start, chunk] of chunks) {
        if (bytesHeld <= bytesMax) break;
        chunks.delete(start);
        bytesHeld -= chunk.bytes.length;
      }
    },
    at: (segment, position) => (segment === newest ? chunks.get(position) : undefined),
    follow: () => {
      let isReading = true;
      followers++;
      return () => {
        if (!isReading) return;
        isReading = false;
        followers--;
        if (followers === 0) clear();
      };
    },
  };
}
