import { type FileHandle, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { createDurableFile, type DurableFile } from "./durable-file.js";
import { isIntact, peekRecord, recordSize } from "./frame.js";
import { recordBytesLimit } from "./scan.js";
import {
  decodeHead,
  encodeHead,
  formatSegmentName,
  newHead,
  parseSegmentName,
  type SegmentHead,
  type SegmentPlace,
  segmentHeadBytes,
  segmentSuffix,
} from "./segment-head.js";

/** One file of the journal. `bytes` is its durable length: nothing after that is ever read. */
export interface Segment extends SegmentHead {
  readonly path: string;
  bytes: number;
}

/** A segment and its file, open for appending. */
export interface OpenSegment {
  readonly segment: Segment;
  readonly file: DurableFile;
}

/** Makes a segment file and syncs it and its folder. The handle is open for writing. */
export async function createSegment(dir: string, place: SegmentPlace): Promise<OpenSegment> {
  const head = newHead(place);
  const path = join(dir, formatSegmentName(head));
  const file = await createDurableFile(path);
  try {
    await file.write([encodeHead(head)], 0);
    await syncFolder(dir);
  } catch (error) {
    await file.close();
    await unlink(path).catch(() => undefined);
    throw error;
  }
  return { segment: { path, ...head, bytes: segmentHeadBytes }, file };
}

export async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * The segments of a folder, oldest first. A file with no bytes after a head that never reached the disk is deleted; one
 * whose first commit failed, so that the next file began with the same id, is quarantined. A damaged head is reported
 * to `onDamage`, and its contents are taken from the name.
 * @throws StoreError INVALID for a newer format
 */
export async function listSegments(
  dir: string,
  onDamage: (file: string, what: string, lostBytes: number) => void,
): Promise<Segment[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(segmentSuffix)).sort();
  const segments: Segment[] = [];
  for (const name of names) {
    const path = join(dir, name);
    const { size } = await stat(path);
    const found = await readSegmentFile(path);
    if (found !== null) {
      if (found.isHeadDamaged) onDamage(path, "the head is damaged; the file's name says what it said", 0);
      segments.push(found.segment);
      continue;
    }
    if (size <= segmentHeadBytes) {
      await unlink(path);
      continue;
    }
    await rename(path, `${path}.void`);
    onDamage(path, "neither head nor name says how to read it: put aside as .void", size);
  }
  const { valid, voided } = orderSegments(segments);
  for (const { path } of voided) await rename(path, `${path}.void`);
  return valid;
}

/** Oldest first. Voided is one whose first commit failed, so that the next file began with the same id. */
export function orderSegments(segments: readonly Segment[]): {
  readonly valid: Segment[];
  readonly voided: Segment[];
} {
  const sorted = [...segments].sort((a, b) => a.firstID - b.firstID || a.createdAt - b.createdAt);
  const isVoid = (segment: Segment, i: number) => sorted[i + 1]?.firstID === segment.firstID;
  return {
    valid: sorted.filter((segment, i) => !isVoid(segment, i)),
    voided: sorted.filter(isVoid),
  };
}

/** A segment as its file is now; null where neither head nor name says how to read it. */
export async function readSegmentFile(
  path: string,
): Promise<{ readonly segment: Segment; readonly isHeadDamaged: boolean } | null> {
  const { size } = await stat(path);
  const head = await readHead(path);
  if (head !== null) return { segment: { path, ...head, bytes: size }, isHeadDamaged: false };
  const named = size <= segmentHeadBytes ? null : await headFromName(path);
  return named === null ? null : { segment: { path, ...named, bytes: size }, isHeadDamaged: true };
}

async function readHead(path: string): Promise<SegmentHead | null> {
  const file = await open(path, "r");
  try {
    const head = Buffer.alloc(segmentHeadBytes);
    const { bytesRead } = await file.read(head, 0, segmentHeadBytes, 0);
    return decodeHead(head.subarray(0, bytesRead), path);
  } finally {
    await file.close();
  }
}

/** Takes the head from the name unless it contradicts the first record, if that record is intact. */
async function headFromName(path: string): Promise<SegmentHead | null> {
  const named = parseSegmentName(basename(path));
  if (named === null) return null;
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(recordBytesLimit);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, segmentHeadBytes);
    const size = recordSize(buffer, 0, bytesRead);
    const contradicts =
      size > 0 && isIntact(buffer, 0, size, named.salt) && peekRecord(buffer, 0).id < named.firstID;
    return contradicts ? null : named;
  } finally {
    await file.close();
  }
}

const copyStepBytes = 1024 * 1024;

/**
 * Cuts what follows the last intact record: the tail of a commit that never ended. All of it is first copied to a file
 * beside the segment, and synced, for a person to look at. Returns the copy's path.
 * @throws if the disk cannot hold the copy
 */
export async function cutTail(segment: Segment, intactBytes: number): Promise<string> {
  const file = await open(segment.path, "r+");
  let path: string;
  try {
    path = await copyTail(file, intactBytes, segment.bytes, `${segment.path}.cut-${intactBytes}`);
    await file.truncate(intactBytes);
    await file.datasync();
  } finally {
    await file.close();
  }
  segment.bytes = intactBytes;
  return path;
}

async function copyTail(file: FileHandle, from: number, to: number, wanted: string): Promise<string> {
  const { copy, path } = await openNew(wanted);
  try {
    const buffer = Buffer.alloc(Math.min(to - from, copyStepBytes));
    for (let at = from; at < to; ) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, to - at), at);
      if (bytesRead === 0) break;
      await copy.writeFile(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    await copy.datasync();
  } finally {
    await copy.close();
  }
  return path;
}

/** A new file of that name, or with a number after it: copies that an earlier start made stay. */
async function openNew(wanted: string): Promise<{ copy: FileHandle; path: string }> {
  for (let n = 1; ; n++) {
    const path = n === 1 ? wanted : `${wanted}-${n}`;
    try {
      return { copy: await open(path, "wx", 0o600), path };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** Unlinks a segment and the copies of what was cut from it. */
export async function unlinkSegment(dir: string, segment: Segment): Promise<void> {
  await rm(segment.path, { force: true });
  const name = basename(segment.path);
  for (const one of await readdir(dir)) {
    if (one.startsWith(`${name}.cut`)) await unlink(join(dir, one));
  }
  await syncFolder(dir);
}
