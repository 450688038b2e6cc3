/** Brings a folder to what its mark says, with the log's help. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { StoreError } from "../../lib/errors.js";
import type { PartitionLog } from "../kafka/partition-log.js";
import { walkSegment } from "../reader.js";
import { readSegmentFile } from "../segment.js";
import {
  encodeHead,
  formatSegmentName,
  isSameSegment,
  segmentHeadBytes,
  segmentSuffix,
} from "../segment-head.js";
import { stampsFileName } from "../stamps-file.js";
import { createCopiedFile } from "./copied-file.js";
import { type CopyMark, copyMarkName, type LogName, readCopyMark, writeCopyMark } from "./copy-mark.js";
import { decodeLogFrame, type LoggedSegment } from "./log-frames.js";
import { refuseShortened } from "./lost-frames.js";

interface RestoreOptions {
  readonly onTrouble: (error: Error) => void;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** After which a log that ends before what the folder has is believed, milliseconds. */
  readonly shortTimeMs: number;
}

/**
 * Resolves with what the folder holds: everything up to its mark that the log still has. Segments that are missing or
 * have another length, and a newest one that is not as it was written, are copied again; what the mark does not name
 * is removed. Without a mark, or if the log begins behind it, the folder is empty afterwards.
 * @throws StoreError INVALID if the folder holds a journal that is no copy, MISMATCH for that of another log,
 *   UNAVAILABLE, CORRUPT if the log lacks what it should have
 */
export async function restoreFolder(
  dir: string,
  name: LogName,
  log: Pick<PartitionLog, "start" | "end" | "read">,
  { onTrouble, signal, shortTimeMs }: RestoreOptions,
): Promise<CopyMark> {
  await mkdir(dir, { recursive: true });
  const names = await readdir(dir);
  const isCopy = names.includes(copyMarkName);
  if (!isCopy && names.some((one) => one.endsWith(segmentSuffix)))
    throw new StoreError("INVALID", `cannot open the journal: ${dir} holds one that is kept there alone`);
  const saved = await readCopyMark(dir, name, onTrouble);
  const start = await log.start();
  if (saved === null || !hasWhatFollows(saved, start)) {
    await removeAllBut(dir, names, []);
    await rm(join(dir, stampsFileName), { force: true });
    const empty: CopyMark = { offset: start, epoch: 0, current: null, before: [] };
    // Segments without a mark would be taken for a journal that is kept here alone.
    await writeCopyMark(dir, name, empty);
    return empty;
  }
  // Before anything is copied again, which would look like damage.
  await refuseShortened(log, saved.offset, { timeMs: shortTimeMs, signal });
  const marked = saved.current === null ? saved.before : [...saved.before, saved.current];
  const stands = marked.filter((_, i) => isInLog(marked, i, start));
  await removeAllBut(dir, names, stands);
  const held: LoggedSegment[] = [];
  for (const segment of stands) {
    const isNewest = segment === saved.current;
    if (!(await isAsMarked(dir, segment, isNewest))) {
      const what = isNewest ? "not as it was written" : "missing, or has another length";
      onTrouble(new Error(`${join(dir, formatSegmentName(segment))} is ${what}: it is copied again`));
      if (!(await copySegment(dir, segment, { start, until: saved.offset }, log, onTrouble))) continue;
    }
    held.push(segment);
  }
  const current = held.find((one) => one === saved.current) ?? null;
  return { ...saved, current, before: held.filter((one) => one !== current) };
}

/** Whether the log still has what comes after the mark. If it begins right there, the newest segment is gone from it. */
function hasWhatFollows({ offset, current }: CopyMark, start: number): boolean {
  return offset > start || (offset === start && (current === null || current.offset >= start));
}

/**
 * A segment is gone from the log once the one after it is the first. Its own offset says less: a beginning may stand there
 * twice, and the first of the two may have been released with what was before it.
 */
function isInLog(segments: readonly LoggedSegment[], at: number, start: number): boolean {
  const next = segments[at + 1];
  return next === undefined || next.offset > start;
}

async function removeAllBut(
  dir: string,
  names: readonly string[],
  kept: readonly LoggedSegment[],
): Promise<void> {
  const keptNames = new Set(kept.map(formatSegmentName));
  for (const one of names) {
    if (one.endsWith(segmentSuffix) && !keptNames.has(one)) await rm(join(dir, one));
  }
}

/** The newest may be longer than its mark; its bytes are looked at, for new ones have just been written there. */
async function isAsMarked(dir: string, segment: LoggedSegment, isNewest: boolean): Promise<boolean> {
  const path = join(dir, formatSegmentName(segment));
  const size = await stat(path).then(
    (found) => found.size,
    () => -1,
  );
  if (!isNewest) return size === segment.bytes;
  if (size < segment.bytes) return false;
  const found = await readSegmentFile(path);
  if (found === null || found.isHeadDamaged) return false;
  let isDamaged = false;
  const walk = await walkSegment(
    { ...found.segment, bytes: segment.bytes },
    Number.POSITIVE_INFINITY,
    () => {
      isDamaged = true;
    },
    () => undefined,
  );
  return !isDamaged && walk.intactBytes === segment.bytes;
}

/**
 * Writes the segment's file anew from the frames before offset `until`; false if the log has let it go.
 * @throws StoreError CORRUPT if the log lacks what it should have
 */
async function copySegment(
  dir: string,
  segment: LoggedSegment,
  { start, until }: { readonly start: number; readonly until: number },
  log: Pick<PartitionLog, "read">,
  onTrouble: (error: Error) => void,
): Promise<boolean> {
  const path = join(dir, formatSegmentName(segment));
  const file = await createCopiedFile(path);
  let bytes = 0;
  try {
    for await (const { frame: encoded } of log.read(Math.max(segment.offset, start), until)) {
      const frame = decodeLogFrame(encoded);
      if (frame.kind === "begin" && bytes === 0) {
        await file.write([encodeHead(frame.head)], 0);
        bytes = segmentHeadBytes;
      } else if (
        frame.kind === "records" &&
        isSameSegment(frame.segment, segment) &&
        frame.position === bytes
      ) {
        await file.write([frame.bytes], bytes);
        bytes += frame.bytes.length;
      }
      if (bytes >= segment.bytes) break;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (bytes === segment.bytes) return true;
  const found = `cannot copy ${path} again: the log has ${bytes} of its ${segment.bytes} bytes`;
  if (segment.offset >= start) throw new StoreError("CORRUPT", found);
  await rm(path);
  onTrouble(new Error(`${found}, for it has let it go; so does this folder`));
  return false;
}
