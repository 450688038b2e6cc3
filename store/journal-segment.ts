import { type FileHandle, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { crc32c } from "./crc32c.js";
import { StoreError } from "./errors.js";
import { isIntact, recordSize } from "./journal-record.js";

/** One file of the journal. `bytes` is its durable length: nothing behind it is ever read. */
export interface Segment {
  readonly path: string;
  readonly firstID: number;
  /** When it was begun, milliseconds. */
  readonly createdAt: number;
  bytes: number;
}

const magic = "TIDEJRNL";
const format = 1;
export const segmentHeadBytes = 64;

/** No record is larger: 256 KiB payload, 64 KiB topic, and room. */
export const recordBytesLimit = 768 * 1024;

const readStepBytes = 1024 * 1024;

function encodeHead(firstID: number, createdAt: number): Buffer {
  const head = Buffer.alloc(segmentHeadBytes);
  head.write(magic, 0, "latin1");
  head.writeUInt32LE(format, 8);
  head.writeDoubleLE(firstID, 16);
  head.writeDoubleLE(createdAt, 24);
  head.writeUInt32LE(crc32c(head, 0, segmentHeadBytes - 4), segmentHeadBytes - 4);
  return head;
}

/** Makes a segment file and syncs it and its folder. The handle is open for writing. */
export async function createSegment(
  dir: string,
  firstID: number,
  createdAt: number,
): Promise<{ segment: Segment; file: FileHandle }> {
  const path = join(dir, `${firstID.toString().padStart(16, "0")}-${createdAt.toString(36)}.journal`);
  const file = await open(path, "wx+", 0o600);
  try {
    await file.write(encodeHead(firstID, createdAt), 0, segmentHeadBytes, 0);
    await file.datasync();
    await syncFolder(dir);
  } catch (error) {
    await file.close();
    await unlink(path).catch(() => undefined);
    throw error;
  }
  return { segment: { path, firstID, createdAt, bytes: segmentHeadBytes }, file };
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
 * The segments of a folder, oldest first. A file whose head never reached the disk holds nothing and is put
 * aside, and so is one whose first commit failed, so that the next file began with the same id. @throws StoreError INVALID for a newer format
 */
export async function listSegments(dir: string): Promise<Segment[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".journal")).sort();
  const segments: Segment[] = [];
  for (const name of names) {
    const path = join(dir, name);
    const head = await readHead(path);
    if (head === null) await rename(path, `${path}.void`);
    else segments.push({ path, ...head, bytes: (await stat(path)).size });
  }
  segments.sort((a, b) => a.firstID - b.firstID || a.createdAt - b.createdAt);
  const isVoid = (segment: Segment, i: number) => segments[i + 1]?.firstID === segment.firstID;
  for (const { path } of segments.filter(isVoid)) await rename(path, `${path}.void`);
  return segments.filter((segment, i) => !isVoid(segment, i));
}

async function readHead(path: string): Promise<{ firstID: number; createdAt: number } | null> {
  const file = await open(path, "r");
  try {
    const head = Buffer.alloc(segmentHeadBytes);
    const { bytesRead } = await file.read(head, 0, segmentHeadBytes, 0);
    const whole =
      bytesRead === segmentHeadBytes &&
      head.toString("latin1", 0, 8) === magic &&
      head.readUInt32LE(segmentHeadBytes - 4) === crc32c(head, 0, segmentHeadBytes - 4);
    if (!whole) return null;
    if (head.readUInt32LE(8) > format) {
      throw new StoreError("INVALID", `cannot open the journal: ${path} has format ${head.readUInt32LE(8)}`);
    }
    return { firstID: head.readDoubleLE(16), createdAt: head.readDoubleLE(24) };
  } finally {
    await file.close();
  }
}

/** Intact records of a file as (buffer, offset in buffer, size, offset in file), until `visit` says false. */
export type RecordVisitor = (
  buffer: Buffer,
  at: number,
  size: number,
  position: number,
) => boolean | undefined;

/**
 * Walks a segment's records from `position` to its durable end, past damaged ones as readRecords does. Returns
 * the offset behind the last intact record: less than `segment.bytes` when the file ends in a torn one.
 */
export async function scanSegment(segment: Segment, position: number, visit: RecordVisitor): Promise<number> {
  const file = await open(segment.path, "r");
  const buffer = Buffer.allocUnsafe(readStepBytes + recordBytesLimit);
  let at = Math.max(position, segmentHeadBytes);
  try {
    while (at < segment.bytes) {
      const want = Math.min(buffer.length, segment.bytes - at);
      const { bytesRead } = await file.read(buffer, 0, want, at);
      const taken = visitAll(buffer, bytesRead, at, visit);
      at += taken.bytes;
      if (taken.stopped || taken.bytes === 0) break;
    }
  } finally {
    await file.close();
  }
  return at;
}

function visitAll(
  buffer: Buffer,
  end: number,
  position: number,
  visit: RecordVisitor,
): { bytes: number; stopped: boolean } {
  let at = 0;
  for (;;) {
    const intact = intactFrom(buffer, at, end);
    if (intact === null) return { bytes: at, stopped: false };
    at = intact.at + intact.size;
    if (visit(buffer, intact.at, intact.size, position + intact.at) === false)
      return { bytes: at, stopped: true };
  }
}

/**
 * The next intact record that lengths lead to. Never looked for byte by byte: a payload may hold what looks
 * like a record.
 */
function intactFrom(buffer: Buffer, from: number, end: number): { at: number; size: number } | null {
  for (let at = from; ; ) {
    const size = recordSize(buffer, at, end);
    if (size === 0) return null;
    if (isIntact(buffer, at, size)) return { at, size };
    at += size;
  }
}

/**
 * Cuts what follows the last intact record: the tail of a commit that never ended. The cut bytes are kept
 * beside the segment for a person to look at. Returns how many there were.
 */
export async function cutTornTail(segment: Segment, intactBytes: number): Promise<number> {
  const torn = segment.bytes - intactBytes;
  if (torn <= 0) return 0;
  const file = await open(segment.path, "r+");
  try {
    const tail = Buffer.alloc(Math.min(torn, 16 * readStepBytes));
    await file.read(tail, 0, tail.length, intactBytes);
    const kept = await open(`${segment.path}.cut`, "w", 0o600);
    await kept.write(tail).finally(() => kept.close());
    await file.truncate(intactBytes);
    await file.datasync();
  } finally {
    await file.close();
  }
  segment.bytes = intactBytes;
  return torn;
}

/** What one read found: offsets of intact records in the buffer, and where to go on in the file. */
export interface RecordsRead {
  readonly offsets: number[];
  readonly next: number;
  /** Bytes of records that are not what was written, passed over. */
  readonly damagedBytes: number;
}

/**
 * Reads whole records from `position` on, as many as the buffer holds. A damaged record is passed over where
 * its length still leads to an intact one; otherwise the rest of the segment is given up.
 */
export async function readRecords(
  file: FileHandle,
  segment: Segment,
  position: number,
  buffer: Buffer,
): Promise<RecordsRead> {
  const want = Math.min(buffer.length, segment.bytes - position);
  const { bytesRead } = await file.read(buffer, 0, want, position);
  const offsets: number[] = [];
  let at = 0;
  let damagedBytes = 0;
  for (;;) {
    const size = recordSize(buffer, at, bytesRead);
    if (size === 0) break;
    if (isIntact(buffer, at, size)) offsets.push(at);
    else damagedBytes += size;
    at += size;
  }
  const stuck = at === 0 && bytesRead > 0;
  if (stuck) return { offsets, next: segment.bytes, damagedBytes: segment.bytes - position };
  return { offsets, next: position + at, damagedBytes };
}

export const readBufferBytes = readStepBytes + recordBytesLimit;
