import { randomInt } from "node:crypto";
import { type FileHandle, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { crc32c } from "../lib/crc32c.js";
import { StoreError } from "../lib/errors.js";
import { createDurableFile, type DurableFile } from "./durable-file.js";
import { isIntact, peekRecord, recordSize } from "./frame.js";
import { recordBytesLimit } from "./scan.js";

/** One file of the journal. `bytes` is its durable length: nothing after that is ever read. */
export interface Segment extends SegmentHead {
  readonly path: string;
  bytes: number;
}

interface SegmentHead {
  readonly firstID: number;
  /** The last id before the segment's; ids in between were never given, or are known to be lost. */
  readonly afterID: number;
  /** First id of the segment before it; 0 for the first segment, null if it is not known. */
  readonly previousID: number | null;
  /** When it was begun, milliseconds. */
  readonly createdAt: number;
  /** The start of every checksum of its records; 0 in format 1, which has no salts. */
  readonly salt: number;
  /** Decides what its records may be; new records go only to a segment of the newest format. */
  readonly format: number;
}

const magic = "TIDEJRNL";
/**
 * Format 2 adds salts and checks of heads, format 3 entries that refer to another record of the segment for their
 * topic.
 */
export const newestFormat = 3;
export const segmentHeadBytes = 64;
const suffix = ".journal";

/*
 * The head, little endian: magic, format u32, salt u32, firstID f64, createdAt f64, afterID f64, previousID f64, zeros,
 * crc32c u32. Format 1 has neither salt nor what follows createdAt; formats 2 and 3 have the same head. The name repeats what the records cannot be read without.
 */
function encodeHead({ firstID, afterID, previousID, createdAt, salt, format }: SegmentHead): Buffer {
  const head = Buffer.alloc(segmentHeadBytes);
  head.write(magic, 0, "latin1");
  head.writeUInt32LE(format, 8);
  head.writeUInt32LE(salt, 12);
  head.writeDoubleLE(firstID, 16);
  head.writeDoubleLE(createdAt, 24);
  head.writeDoubleLE(afterID, 32);
  head.writeDoubleLE(previousID ?? 0, 40);
  head.writeUInt32LE(crc32c(head, 0, segmentHeadBytes - 4), segmentHeadBytes - 4);
  return head;
}

/** Null if the bytes are not a head as it was written. @throws StoreError INVALID for a newer format */
function decodeHead(head: Buffer, path: string): SegmentHead | null {
  const whole =
    head.length === segmentHeadBytes &&
    head.toString("latin1", 0, 8) === magic &&
    head.readUInt32LE(segmentHeadBytes - 4) === crc32c(head, 0, segmentHeadBytes - 4);
  if (!whole) return null;
  const found = head.readUInt32LE(8);
  if (found > newestFormat)
    throw new StoreError("INVALID", `cannot open the journal: ${path} has format ${found}`);
  const firstID = head.readDoubleLE(16);
  return {
    firstID,
    afterID: found === 1 ? firstID - 1 : head.readDoubleLE(32),
    previousID: found === 1 ? null : head.readDoubleLE(40),
    createdAt: head.readDoubleLE(24),
    salt: found === 1 ? 0 : head.readUInt32LE(12),
    format: found,
  };
}

function nameOf({ firstID, createdAt, salt }: SegmentHead): string {
  return `${firstID.toString().padStart(16, "0")}-${createdAt.toString(36)}-${salt.toString(36)}${suffix}`;
}

/** The head's contents as far as the file's name tells them. Names of format 1 have no salt. */
function headOfName(name: string): SegmentHead | null {
  const found = /^(\d{16})-([0-9a-z]{1,11})(?:-([0-9a-z]{1,7}))?\.journal$/.exec(name);
  if (found === null) return null;
  const firstID = Number(found[1]);
  const salt = Number.parseInt(found[3] ?? "0", 36);
  return {
    firstID,
    afterID: firstID - 1,
    previousID: null,
    createdAt: Number.parseInt(found[2] ?? "", 36),
    salt,
    // The older of the two formats that it may be: it is read like the newer, and not written to.
    format: salt === 0 ? 1 : 2,
  };
}

/** Makes a segment file and syncs it and its folder. The handle is open for writing. */
export async function createSegment(
  dir: string,
  of: Omit<SegmentHead, "salt" | "format">,
): Promise<{ segment: Segment; file: DurableFile }> {
  const head = { ...of, salt: randomInt(1, 2 ** 32), format: newestFormat };
  const path = join(dir, nameOf(head));
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
 * whose first commit failed, so that the next file began with the same id, is put aside. A damaged head is reported to
 * `onDamage`, and its contents are taken from the name.
 * @throws StoreError INVALID for a newer format
 */
export async function listSegments(
  dir: string,
  onDamage: (file: string, what: string, lostBytes: number) => void,
): Promise<Segment[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(suffix)).sort();
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
  segments.sort((a, b) => a.firstID - b.firstID || a.createdAt - b.createdAt);
  const isVoid = (segment: Segment, i: number) => segments[i + 1]?.firstID === segment.firstID;
  for (const { path } of segments.filter(isVoid)) await rename(path, `${path}.void`);
  return segments.filter((segment, i) => !isVoid(segment, i));
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
  const named = headOfName(basename(path));
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
  await unlink(segment.path);
  const name = basename(segment.path);
  for (const one of await readdir(dir)) {
    if (one.startsWith(`${name}.cut`)) await unlink(join(dir, one));
  }
  await syncFolder(dir);
}
