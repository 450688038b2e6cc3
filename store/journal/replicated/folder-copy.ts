/** The segments of a log, in a folder of this machine: what is read is read here. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { StoreError } from "../../lib/errors.js";
import {
  encodeHead,
  formatSegmentName,
  isSameSegment,
  type SegmentHead,
  type SegmentName,
  segmentHeadBytes,
} from "../segment-head.js";
import type { StampRuns } from "../stamps.js";
import { writeStampRuns } from "../stamps-file.js";
import { type CopiedFile, createCopiedFile, reopenCopiedFile } from "./copied-file.js";
import { type CopyMark, type LogName, writeCopyMark } from "./copy-mark.js";
import type { LogFrame, LoggedSegment } from "./log-frames.js";

/** A copy that grows. Its calls come one after another. */
export interface FolderCopy {
  /** The next frame that it lacks. */
  readonly offset: number;
  /** The highest epoch claimed so far, and who claimed it; null where that was before the copy's mark. */
  readonly epoch: number;
  readonly owner: string | null;
  /** The newest segment. */
  readonly current: LoggedSegment | null;
  /** Those before it, oldest first. */
  readonly before: readonly LoggedSegment[];
  /** All of them. */
  readonly segments: readonly LoggedSegment[];
  /**
   * Takes the frame at `offset`. What comes twice, or from an owner that another has followed, changes nothing.
   * @throws StoreError CORRUPT if frames before it are missing
   */
  apply(frame: LogFrame, offset: number): Promise<void>;
  /** As `apply` does with a frame of this process's own, which is known to be in order. */
  begin(head: SegmentHead, given: StampRuns, offset: number): Promise<string>;
  write(position: number, views: readonly Buffer[], nextOffset: number): Promise<void>;
  /** Goes on behind a frame that changes nothing. */
  passTo(nextOffset: number): void;
  /** Forgets a segment that the log has released. */
  forget(segment: Pick<SegmentName, "firstID" | "salt">): void;
  /** Brings everything to the disk, and notes that. */
  mark(): Promise<void>;
  close(): Promise<void>;
}

type Growing = Omit<LoggedSegment, "bytes"> & { bytes: number };

/** What a restart copies again at the most. */
const markEveryBytes = 16 * 1024 * 1024;

/** `held`: what the folder holds (`restoreFolder`). */
export async function openFolderCopy(
  dir: string,
  name: LogName,
  held: CopyMark,
  onTrouble: (error: Error) => void,
): Promise<FolderCopy> {
  let { offset, epoch } = held;
  let owner: string | null = null;
  let current: Growing | null = held.current && { ...held.current };
  let before = [...held.before];
  let file: CopiedFile | null =
    current && (await reopenCopiedFile(join(dir, formatSegmentName(current)), current.bytes));
  let given: StampRuns | null = null;
  let unmarkedBytes = 0;
  let marking: Promise<void> = Promise.resolve();
  /** Files of segments that have ended since the last mark. */
  const ended: CopiedFile[] = [];
  let hasFailed = false;

  const segments = (): readonly LoggedSegment[] => (current === null ? before : [...before, current]);
  const isKnown = (segment: Pick<SegmentName, "firstID" | "salt">): boolean =>
    segments().some((one) => isSameSegment(one, segment));

  async function begin(head: SegmentHead, stamps: StampRuns, at: number): Promise<string> {
    const path = join(dir, formatSegmentName(head));
    const made = await createCopiedFile(path);
    const isReplaced = current?.firstID === head.firstID;
    try {
      await made.write([encodeHead(head)], 0);
      if (current !== null && isReplaced) await rm(join(dir, formatSegmentName(current)), { force: true });
    } catch (error) {
      await made.close();
      throw error;
    }
    if (file !== null) ended.push(file);
    if (current !== null && !isReplaced) before.push(current);
    const { firstID, createdAt, salt } = head;
    current = { firstID, createdAt, salt, offset: at, bytes: segmentHeadBytes };
    file = made;
    given = stamps;
    offset = at + 1;
    void mark().catch(onTrouble);
    return path;
  }

  async function write(position: number, views: readonly Buffer[], nextOffset: number): Promise<void> {
    if (file === null || current === null) throw new StoreError("INVALID", "no segment has been begun");
    await file.write(views, position);
    const bytes = views.reduce((sum, view) => sum + view.length, 0);
    current.bytes = position + bytes;
    offset = nextOffset;
    unmarkedBytes += bytes;
    if (unmarkedBytes >= markEveryBytes) void mark().catch(onTrouble);
  }

  /** One after another: a mark never replaces a later one. */
  function mark(): Promise<void> {
    unmarkedBytes = 0;
    const next = marking.then(takeMark);
    marking = next.catch(() => undefined);
    return next;
  }

  async function takeMark(): Promise<void> {
    const state = { offset, epoch, current: current && { ...current }, before: [...before] };
    const [stamps, open, closing] = [given, file, ended.splice(0)];
    try {
      if (hasFailed) return;
      for (const one of closing) await one.sync();
      await open?.sync();
    } catch (error) {
      // A later success would not mean that what failed now is on disk: the next start copies it again.
      hasFailed = true;
      throw error;
    } finally {
      for (const one of closing) await one.close().catch(onTrouble);
    }
    if (stamps !== null) await writeStampRuns(dir, stamps);
    await writeCopyMark(dir, name, state);
  }

  async function applyRecords(frame: Extract<LogFrame, { kind: "records" }>, at: number): Promise<void> {
    const { segment, position, bytes } = frame;
    if (current === null || !isSameSegment(current, segment)) {
      if (isKnown(segment)) return passTo(at + 1);
      throw gap(at, `the segment from record ${segment.firstID} on has not been begun`);
    }
    const has = current.bytes;
    if (position + bytes.length <= has) return passTo(at + 1);
    if (position !== has) throw gap(at, `it goes on at byte ${position} of a segment that has ${has}`);
    await write(position, [bytes], at + 1);
  }

  /** A beginning says how long the segment before it is. @throws StoreError CORRUPT if it is not that long here */
  function refuseGap({ head, before: named }: Extract<LogFrame, { kind: "begin" }>, at: number): void {
    if (current === null || current.firstID === head.firstID) return;
    const last = named.at(-1);
    if (last !== undefined && isSameSegment(last, current) && last.bytes === current.bytes) return;
    const here = `the segment from record ${current.firstID} on has ${current.bytes} bytes here`;
    throw gap(at, `${here}, and ${last?.bytes ?? "no"} in what it names before it`);
  }

  function passTo(nextOffset: number): void {
    offset = nextOffset;
  }

  return {
    get offset() {
      return offset;
    },
    get epoch() {
      return epoch;
    },
    get owner() {
      return owner;
    },
    get current() {
      return current;
    },
    get before() {
      return before;
    },
    get segments() {
      return segments();
    },
    apply: async (frame, at) => {
      if (at < offset) return;
      if (frame.kind === "claim") {
        if (frame.epoch > epoch) ({ epoch, owner } = frame);
        return passTo(at + 1);
      }
      if (frame.epoch < epoch) return passTo(at + 1);
      ({ epoch } = frame);
      if (frame.kind === "records") return applyRecords(frame, at);
      const isOld = isKnown(frame.head) || frame.head.firstID < (current?.firstID ?? 0);
      if (isOld) return passTo(at + 1);
      refuseGap(frame, at);
      await begin(frame.head, frame.given, at);
    },
    begin,
    write,
    passTo,
    forget: (segment) => {
      before = before.filter((one) => !isSameSegment(one, segment));
    },
    mark,
    close: async () => {
      await mark().catch(onTrouble);
      await file?.close();
      file = null;
    },
  };
}

function gap(offset: number, found: string): StoreError {
  return new StoreError("CORRUPT", `cannot copy the journal's log at offset ${offset}: ${found}`);
}
