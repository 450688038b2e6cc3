/** The head of a segment's file: what its records cannot be read without. */
import { randomInt } from "node:crypto";
import { crc32c } from "../lib/crc32c.js";
import { StoreError } from "../lib/errors.js";

export interface SegmentHead {
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
export const segmentSuffix = ".journal";

/*
 * The head, little endian: magic, format u32, salt u32, firstID f64, createdAt f64, afterID f64, previousID f64, zeros,
 * crc32c u32. Format 1 has neither salt nor what follows createdAt; formats 2 and 3 have the same head. The name repeats what the records cannot be read without.
 */
export function encodeHead({ firstID, afterID, previousID, createdAt, salt, format }: SegmentHead): Buffer {
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

/** Where a segment begins. */
export type SegmentPlace = Omit<SegmentHead, "salt" | "format">;

/** A head of the newest format, with a salt that no sender can know. */
export function newHead(place: SegmentPlace): SegmentHead {
  return { ...place, salt: randomInt(1, 2 ** 32), format: newestFormat };
}

/** Null if the bytes are not a head as it was written. @throws StoreError INVALID for a newer format */
export function decodeHead(head: Buffer, path: string): SegmentHead | null {
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

/** What identifies a segment. */
export type SegmentName = Pick<SegmentHead, "firstID" | "createdAt" | "salt">;

/** The salt is drawn anew for each. */
export function isSameSegment(
  one: Pick<SegmentName, "firstID" | "salt">,
  other: Pick<SegmentName, "firstID" | "salt">,
): boolean {
  return one.firstID === other.firstID && one.salt === other.salt;
}

export function formatSegmentName({ firstID, createdAt, salt }: SegmentName): string {
  return `${firstID.toString().padStart(16, "0")}-${createdAt.toString(36)}-${salt.toString(36)}${segmentSuffix}`;
}

/** Parses the parts of the head that the file's name contains. Names of format 1 have no salt. */
export function parseSegmentName(name: string): SegmentHead | null {
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
