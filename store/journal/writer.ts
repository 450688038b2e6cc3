import { unlink } from "node:fs/promises";
import type { Batch } from "./batch.js";
import type { Recovered } from "./recover.js";
import type { OpenSegment, Segment } from "./segment.js";
import { segmentHeadBytes } from "./segment-head.js";
import type { SegmentKeeping } from "./segment-keeping.js";

export interface JournalWriterOptions {
  readonly dir: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly segmentBytesMax: number;
  readonly segmentAgeMaxMs: number;
  readonly onSegmentClosed?: (segment: Segment) => void;
}

/** Writes batches to the newest segment, and begins segments. Only the writer changes their list. */
export interface JournalWriter {
  /** Makes the batch durable; resolves with its place. After a failure, call `abandon` before the next try. */
  write(batch: Batch): Promise<{ readonly segment: Segment; readonly position: number }>;
  /** Begins a segment for the records from `firstID` on. */
  begin(firstID: number): Promise<Segment>;
  /**
   * Leaves the present file, unless the write is gone on with: its durable part stays; a failed tail is cut as far as the
   * disk allows.
   */
  abandon(): Promise<void>;
  close(): Promise<void>;
}

export function createJournalWriter(
  options: JournalWriterOptions,
  keeping: SegmentKeeping,
  recovered: Recovered,
): JournalWriter {
  const { segments, stamps, topics } = recovered;
  let { file } = recovered;
  /** When the newest segment was opened, by the monotonic clock. */
  let openedAt = performance.now();
  let { lastID } = recovered;
  /** A batch of which nobody knows yet whether it is kept, and where it goes. */
  let unfinished: (OpenSegment & { readonly batch: Batch }) | null = null;

  /** The newest segment, or a new one if that is full, old, abandoned or of an earlier format. */
  async function writable(firstID: number): Promise<OpenSegment> {
    const current = segments.at(-1);
    if (file !== null && current !== undefined) {
      const ageMs = Math.max(options.now() - current.createdAt, performance.now() - openedAt);
      const isEmpty = current.bytes === segmentHeadBytes;
      const isYoung = ageMs < options.segmentAgeMaxMs || isEmpty;
      if (isYoung && current.bytes < options.segmentBytesMax) return { segment: current, file };
    }
    return create(firstID);
  }

  async function create(firstID: number): Promise<OpenSegment> {
    const current = segments.at(-1);
    const isReplaced = current !== undefined && current.firstID === firstID;
    // If the clock has gone back, the newer of two segments with one first id must be distinguishable from the older.
    const createdAt = Math.floor(Math.max(options.now(), isReplaced ? current.createdAt + 1 : 0));
    lastID ??= firstID - 1;
    const place = isReplaced
      ? { afterID: current.afterID, previousID: current.previousID }
      : { afterID: lastID, previousID: current?.firstID ?? 0 };
    const made = await keeping.begin({ firstID, ...place, createdAt }, stamps.runs());
    await file?.close();
    file = made.file;
    topics.clear();
    openedAt = performance.now();
    if (isReplaced) {
      // Its first commit failed: the new file takes its place, so that a sick disk does not fill with heads.
      segments.splice(-1, 1, made.segment);
      await unlink(current.path).catch(() => undefined);
    } else {
      segments.push(made.segment);
      if (current !== undefined) options.onSegmentClosed?.(current);
    }
    return made;
  }

  return {
    write: async (batch) => {
      const { segment, file: target } =
        unfinished?.batch === batch ? unfinished : await writable(batch.firstID);
      if (keeping.resumes) unfinished = { segment, file: target, batch };
      const position = segment.bytes;
      await batch.fit({ salt: segment.salt, position, topics });
      await target.write(batch.views(), position);
      unfinished = null;
      segment.bytes = position + batch.bytes;
      lastID = batch.lastID;
      for (const [envelope, at] of batch.holders) topics.add(envelope, position + at);
      return { segment, position };
    },
    begin: async (firstID) => (await create(firstID)).segment,
    abandon: async () => {
      const current = segments.at(-1);
      if (file === null || current === undefined || keeping.resumes) return;
      await file.truncate(current.bytes).catch(() => undefined);
      await file.close().catch(() => undefined);
      file = null;
    },
    close: async () => {
      await file?.close();
      file = null;
    },
  };
}
