import { type FileHandle, open } from "node:fs/promises";
import { decodeRecord, type JournalRecord, recordSize } from "./journal-record.js";
import { recordBytesLimit, type Segment } from "./journal-segment.js";

/** Bytes read at once where records lie close together. */
const spanBytesMax = 256 * 1024;

/** The records at the offsets, in their order (newest first: descending). */
export async function readAt(segment: Segment, offsets: readonly number[]): Promise<JournalRecord[]> {
  if (offsets.length === 0) return [];
  // Retention may have unlinked the segment since it was listed.
  const file = await open(segment.path, "r").catch(() => null);
  if (file === null) return [];
  try {
    const records: JournalRecord[] = [];
    for (let at = 0; at < offsets.length; ) {
      const newest = offsets[at] as number;
      let last = at;
      while (last + 1 < offsets.length && newest - (offsets[last + 1] as number) < spanBytesMax) last++;
      const oldest = offsets[last] as number;
      const span = await readSpan(file, segment, oldest, newest);
      for (; at <= last; at++) {
        const start = (offsets[at] as number) - oldest;
        if (recordSize(span, start, span.length) > 0) records.push(decodeRecord(span, start));
      }
    }
    return records;
  } finally {
    await file.close();
  }
}

/** Bytes from the oldest record to the end of the newest; most records are small, so guess and read on. */
async function readSpan(file: FileHandle, segment: Segment, oldest: number, newest: number): Promise<Buffer> {
  const guess = newest - oldest + 4096;
  for (const size of [guess, newest - oldest + recordBytesLimit]) {
    const buffer = Buffer.allocUnsafe(Math.min(size, segment.bytes - oldest));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, oldest);
    if (recordSize(buffer, newest - oldest, bytesRead) > 0) return buffer.subarray(0, bytesRead);
  }
  return Buffer.alloc(0);
}
