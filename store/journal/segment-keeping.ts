import { type DurableFile, openDurableFile } from "./durable-file.js";
import { createSegment, type OpenSegment, type Segment, unlinkSegment } from "./segment.js";
import type { SegmentPlace } from "./segment-head.js";
import type { StampRuns } from "./stamps.js";
import { writeStampRuns } from "./stamps-file.js";

/** After a failed write, milliseconds until the next: each delay is twice the one before, up to the longest. */
export interface RetryTimes {
  readonly first: number;
  readonly longest: number;
}

/** Where a journal's segments are kept: on the disk of this machine, or on others as well (replicated/). */
export interface SegmentKeeping {
  /** The segment's file, for appending; null if a new segment must be begun. */
  reopen(segment: Segment): Promise<DurableFile | null>;
  /** Begins a segment. `given`: the stamps given before it. */
  begin(place: SegmentPlace, given: StampRuns): Promise<OpenSegment>;
  /**
   * Whether what a failed write has left is still on its way: then the same bytes must be written again at the same
   * place. Otherwise it is cut off, and the next write may be another.
   */
  readonly resumes: boolean;
  readonly retryMs: RetryTimes;
  /** Lets the oldest segment go, which `next` follows. */
  drop(segment: Segment, next: Segment): Promise<void>;
  close(): Promise<void>;
}

/** Keeps segments in a folder of this machine: a write has succeeded once it is on the disk. */
export function keepOnDisk(dir: string): SegmentKeeping {
  return {
    reopen: ({ path }) => openDurableFile(path),
    begin: async (place, given) => {
      // The stamps file holds the stamps that the newest segment's records do not contain.
      await writeStampRuns(dir, given);
      return createSegment(dir, place);
    },
    resumes: false,
    retryMs: { first: 1000, longest: 1000 },
    drop: (segment) => unlinkSegment(dir, segment),
    close: async () => undefined,
  };
}
