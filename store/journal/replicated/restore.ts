/** Brings a folder to what its mark says, with the log's help. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { StoreError } from "../../lib/errors.js";
import type { PartitionLog } from "../kafka/partition-log.js";
import { walkSegment } from "../reader.js";
import { readSegmentFile } from "../segment.js";
import { encodeHead, nameOf, segmentHeadBytes, segmentSuffix } from "../segment-head.js";
import { stampsFileName } from "../stamps-file.js";
import { createCopiedFile } from "./copied-file.js";
import { type CopyMark, copyMarkName, type LogName, readCopyMark } from "./copy-mark.js";
import { decodeLogFrame, type LoggedSegment } from "./log-frames.js";

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
  log: Pick<PartitionLog, "start" | "read">,
  onTrouble: (error: Error) => void,
): Promise<CopyMark> {
  await mkdir(dir, { recursive: true });
  const names = await readdir(dir);
  const isCopy = names.includes(copyMarkName);
  if (!isCopy && names.some((one) => one.endsWith(segmentSuffix)))
    throw new StoreError("INVALID", `cannot open the journal: ${dir} holds one that is kept there alone`);
  const saved = await readCopyMark(dir, name, onTrouble);
  const start = await log.start();
  if (saved === null || saved.offset < start || (saved.current !== null && saved.current.offset < start)) {
    await removeAllBut(dir, names, []);
    for (const one of [stampsFileName, copyMarkName]) await rm(join(dir, one), { force: true });
    return { offset: start, epoch: 0, current: null, before: [] };
  }
  const before = saved.before.filter(({ offset }) => offset >= start);
  const kept = saved.current === null ? before : [...before, saved.current];
  await removeAllBut(dir, names, kept);
  for (const segment of kept) {
    const isNewest = segment === saved.current;
    if (await isAsMarked(dir, segment, isNewest)) continue;
    const what = isNewest ? "not as it was written" : "missing, or has another length";
    onTrouble(new Error(`${join(dir, nameOf(segment))} is ${what}: it is copied again`));
    await copySegment(dir, segment, saved.offset, log);
  }
  return { ...saved, before };
}

async function removeAllBut(
  dir: string,
  names: readonly string[],
  kept: readonly LoggedSegment[],
): Promise<void> {
  const keptNames = new Set(kept.map(nameOf));
  for (const one of names) {
    if (one.endsWith(segmentSuffix) && !keptNames.has(one)) await rm(join(dir, one));
  }
}

/** The newest may be longer than its mark; its bytes are looked at, for new ones have just been written there. */
async function isAsMarked(dir: string, segment: LoggedSegment, isNewest: boolean): Promise<boolean> {
  const path = join(dir, nameOf(segment));
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

/** Writes the segment's file anew from the frames before offset `until`. */
async function copySegment(
  dir: string,
  segment: LoggedSegment,
  until: number,
  log: Pick<PartitionLog, "read">,
): Promise<void> {
  const path = join(dir, nameOf(segment));
  const file = await createCopiedFile(path);
  let bytes = 0;
  try {
    for await (const { frame: encoded } of log.read(segment.offset, until)) {
      const frame = decodeLogFrame(encoded);
      if (frame.kind === "begin" && bytes === 0) {
        await file.write([encodeHead(frame.head)], 0);
        bytes = segmentHeadBytes;
      } else if (
        frame.kind === "records" &&
        frame.segment.salt === segment.salt &&
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
  if (bytes === segment.bytes) return;
  const found = `${bytes} of the ${segment.bytes} bytes`;
  throw new StoreError("CORRUPT", `cannot copy ${path} again: the log has ${found}`);
}
