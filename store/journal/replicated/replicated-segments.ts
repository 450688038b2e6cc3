import { onAbort } from "../../lib/abortable.js";
import type { StoreError } from "../../lib/errors.js";
import type { DurableFile } from "../durable-file.js";
import { prefixBytes } from "../frame.js";
import type { PartitionLog } from "../kafka/partition-log.js";
import { unlinkSegment } from "../segment.js";
import { isSameSegment, newHead, type SegmentHead, segmentHeadBytes } from "../segment-head.js";
import type { SegmentKeeping } from "../segment-keeping.js";
import { claimLog } from "./claim.js";
import type { LogName } from "./copy-mark.js";
import { type FolderCopy, openFolderCopy } from "./folder-copy.js";
import { createLogAppender, type LogAppender } from "./log-appender.js";
import { type Claimant, encodeBegin, encodeRecords, recordsFrameHeadBytes } from "./log-frames.js";
import { restoreFolder } from "./restore.js";

interface ReplicatedOptions {
  readonly dir: string;
  /** Is closed with what is returned. */
  readonly log: PartitionLog;
  readonly name: LogName;
  readonly claimant: Claimant;
  /** The longest frame, bytes. */
  readonly frameBytesMax: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called once, when nothing more can be kept: another process has taken over, or the log is not as it was left. */
  readonly onEnded: (reason: StoreError) => void;
  readonly onTrouble: (error: Error) => void;
  /** Ends the opening early. */
  readonly signal: AbortSignal;
  /** After which a log that ends before what the folder has is believed, milliseconds; default 5,000. */
  readonly shortTimeMs?: number;
}

/** For which a claim is tried, milliseconds. */
const claimTimeMs = 60_000;
/** A beginning names so many segments before it; those name the ones before them. */
const namedBefore = 1000;

/**
 * Takes the log from its former owner, and brings the folder up to its end. A write has succeeded once the log has it.
 * @throws StoreError as `restoreFolder` and `claimLog`
 */
export async function keepInLog(options: ReplicatedOptions): Promise<SegmentKeeping> {
  const { dir, log, name, claimant, onTrouble, onEnded, now, signal, frameBytesMax } = options;
  const { shortTimeMs = 5000 } = options;
  let copy: FolderCopy | null = null;
  let epoch: number;
  // Whatever waits for an answer of the log ends with it.
  const stopListening = onAbort(signal, log.close);
  if (signal.aborted) log.close();
  try {
    const held = await restoreFolder(dir, name, log, { onTrouble, signal, shortTimeMs });
    copy = await openFolderCopy(dir, name, held, onTrouble);
    epoch = await claimLog({ log, copy, claimant, now, signal, timeMs: claimTimeMs });
    await copy.mark();
  } catch (error) {
    await copy?.close();
    log.close();
    throw error;
  } finally {
    stopListening();
  }
  const appender = createLogAppender({ log, epoch, next: copy.offset, onEnded });
  return segmentsOver({ dir, log, copy, appender, epoch, frameBytesMax });
}

interface Parts {
  readonly dir: string;
  readonly log: PartitionLog;
  readonly copy: FolderCopy;
  readonly appender: LogAppender;
  readonly epoch: number;
  readonly frameBytesMax: number;
}

/** A beginning that was not finished: the next attempt must be the same. */
interface Begun {
  readonly head: SegmentHead;
  readonly frame: Buffer;
  /** Null until the log has it. */
  offset: number | null;
}

function segmentsOver({ dir, log, copy, appender, epoch, frameBytesMax }: Parts): SegmentKeeping {
  let begun: Begun | null = null;

  function createSegmentFile(segment: Pick<SegmentHead, "firstID" | "salt">, begunAt: number): DurableFile {
    /** Up to here the log has the segment: a write that is made again goes on behind it. */
    let logged = segmentHeadBytes;
    return {
      write: async (views, position) => {
        let at = position;
        for (const part of partsOf(views, frameBytesMax - recordsFrameHeadBytes)) {
          const bytes = part.reduce((sum, view) => sum + view.length, 0);
          if (at + bytes > logged) {
            await appender.append(encodeRecords(epoch, { segment, begunAt, position: at }, part));
            logged = at + bytes;
          }
          at += bytes;
        }
        await copy.write(position, views, appender.next);
      },
      truncate: async () => undefined,
      close: async () => undefined,
    };
  }

  return {
    // An owner writes to no segment but its own: what a former one may still have on its way belongs to none of them.
    reopen: async () => null,
    begin: async (place, given) => {
      if (begun?.head.firstID !== place.firstID) {
        const head = newHead(place);
        const isReplaced = copy.current?.firstID === head.firstID;
        const before = isReplaced ? copy.before : copy.segments;
        const frame = encodeBegin(epoch, { head, given, before: before.slice(-namedBefore) });
        begun = { head, frame, offset: null };
      }
      const { head, frame } = begun;
      begun.offset ??= await appender.append(frame);
      const path = await copy.begin(head, given, begun.offset);
      const file = createSegmentFile(head, begun.offset);
      begun = null;
      return { segment: { path, ...head, bytes: segmentHeadBytes }, file };
    },
    resumes: true,
    // The log has been patient already, unless it refuses us.
    retryMs: { first: 20, longest: 1000 },
    drop: async (segment, next) => {
      const following = copy.segments.find((one) => isSameSegment(one, next));
      if (following !== undefined) await log.deleteBefore(following.offset);
      copy.forget(segment);
      await unlinkSegment(dir, segment);
    },
    close: async () => {
      await copy.close();
      log.close();
    },
  };
}

/** The bytes in parts of whole records, none longer than `bytesMax`, which no record is. */
function* partsOf(views: readonly Buffer[], bytesMax: number): Generator<readonly Buffer[], void> {
  let part: Buffer[] = [];
  let bytes = 0;
  for (const view of views) {
    for (let from = 0; from < view.length; ) {
      const to = endWithin(view, from, bytesMax - bytes);
      if (to > from) {
        part.push(view.subarray(from, to));
        bytes += to - from;
        from = to;
      }
      if (from === view.length) continue;
      yield part;
      part = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield part;
}

/** Where the last record ends that begins at `from` or later and lies within so many bytes. */
function endWithin(view: Buffer, from: number, bytesMax: number): number {
  if (view.length - from <= bytesMax) return view.length;
  let at = from;
  for (;;) {
    const end = at + prefixBytes + view.readUInt32LE(at);
    if (end - from > bytesMax) return at;
    at = end;
  }
}
