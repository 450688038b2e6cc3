import { type FileHandle, open } from "node:fs/promises";
import { isIntact, recordSize } from "../journal/frame.js";
import type { JournalRecord } from "../journal/record.js";
import { decodeRecord } from "../journal/record-codecs.js";
import { recordBytesLimit } from "../journal/scan.js";
import type { Segment } from "../journal/segment.js";
import { createTopicFinder } from "../journal/topics.js";

/** Bytes read at once where records lie close together. */
const spanBytesMax = 256 * 1024;

/**
 * The records at the offsets, in the order of these (newest first, so descending). Each step yields records that lie
 * close together and share its bytes. For a record that is not as it was written, `onDamage` is called, and null
 * stands in its place.
 */
export async function* readAt(
  segment: Segment,
  offsets: readonly number[],
  onDamage: () => void,
): AsyncGenerator<(JournalRecord | null)[], void> {
  if (offsets.length === 0) return;
  // Retention may have unlinked the segment since it was listed.
  const file = await open(segment.path, "r").catch(() => null);
  if (file === null) return;
  try {
    const finder = createTopicFinder(segment.salt);
    for (let at = 0; at < offsets.length; ) {
      const newest = offsets[at] as number;
      let last = at;
      while (last + 1 < offsets.length && newest - (offsets[last + 1] as number) < spanBytesMax) last++;
      const oldest = offsets[last] as number;
      const span = await readSpan(file, segment, oldest, newest);
      const starts: (number | null)[] = [];
      for (; at <= last; at++) {
        const start = (offsets[at] as number) - oldest;
        const size = recordSize(span, start, span.length);
        const isWhole = size > 0 && isIntact(span, start, size, segment.salt);
        if (!isWhole) onDamage();
        starts.push(isWhole ? start : null);
      }
      const intact = starts.filter((start) => start !== null);
      const topics = await finder.find(file, span, oldest, intact);
      yield starts.map((start) => (start === null ? null : decodeRecord(span, start, topics)));
    }
  } finally {
    await file.close();
  }
}

/** The same with null for records of other owners: a damaged index must not show one tenant's records to another. */
export async function* readOwn(
  segment: Segment,
  offsets: readonly number[],
  isOwn: (record: JournalRecord) => boolean,
  { onDamage, onForeign }: { onDamage: () => void; onForeign: () => void },
): AsyncGenerator<(JournalRecord | null)[], void> {
  let foreign = false;
  for await (const records of readAt(segment, offsets, onDamage)) {
    for (const [i, record] of records.entries()) {
      if (record === null || isOwn(record)) continue;
      foreign = true;
      records[i] = null;
    }
    yield records;
  }
  if (foreign) onForeign();
}

/** Bytes from the oldest record to the end of the newest. Most records are small, so the first read is a guess. */
async function readSpan(file: FileHandle, segment: Segment, oldest: number, newest: number): Promise<Buffer> {
  const guess = newest - oldest + 4096;
  let span = Buffer.alloc(0);
  for (const size of [guess, newest - oldest + recordBytesLimit]) {
    // A file that has lost its end is shorter than the index says.
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(size, segment.bytes - oldest)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, oldest);
    span = buffer.subarray(0, bytesRead);
    if (recordSize(span, newest - oldest, bytesRead) > 0) break;
  }
  return span;
}
