/** The records committed last, in memory: a follower that keeps up need not read them back from the disk. */
import { peekRecord, prefixBytes } from "./frame.js";
import type { Segment } from "./segment.js";

/** The bytes that one commit wrote. They never change. */
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
  /** A reader begins; it calls the returned function when it ends, once or more often. */
  follow(): () => void;
}

/** Some twenty commits at full speed: a follower that is farther behind reads larger pieces from the disk. */
const tailBytesMax = 4 << 20;
/** What a chunk takes besides its bytes: its objects, and a place in the map; and each of its offsets. */
const chunkBytes = 512;
const offsetBytes = 8;

const heldBy = ({ bytes, offsets }: TailChunk): number =>
  chunkBytes + bytes.length + offsets.length * offsetBytes;

export function createTail(bytesMax = tailBytesMax): Tail {
  /** Chunks of the newest segment, by position, in the order of the commits. */
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
      // Memory of its own: a few bytes of the pool that Node shares among small buffers would hold 8 KiB of it.
      const bytes = Buffer.allocUnsafeSlow(length);
      let end = 0;
      for (const view of views) end += view.copy(bytes, end);
      const offsets: number[] = [];
      for (let at = 0; at < bytes.length; at += prefixBytes + bytes.readUInt32LE(at)) offsets.push(at);
      const last = offsets.at(-1);
      if (last === undefined) return;
      const chunk = { segment, position, bytes, offsets, lastID: peekRecord(bytes, last).id };
      chunks.set(position, chunk);
      bytesHeld += heldBy(chunk);
      for (const [start, oldest] of chunks) {
        if (bytesHeld <= bytesMax) break;
        chunks.delete(start);
        bytesHeld -= heldBy(oldest);
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
