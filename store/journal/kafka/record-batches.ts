/** Kafka's record batches (version 2) to frames: one record, one frame. */
import { crc32c } from "../../lib/crc32c.js";
import { toDataView } from "../../lib/data-view.js";
import { StoreError } from "../../lib/errors.js";
import type { LoggedFrame } from "./partition-log.js";

/** The size of base offset and length, which the length does not count. */
const lengthEnd = 12;
const leastLength = 49;
const magicAt = 16;
const crcAt = 17;
const attributesAt = 21;
const lastDeltaAt = 23;
const lastTimeAt = 35;
const countAt = 57;
const recordsAt = 61;

/**
 * The frames of whole batches, in order, from offset `from` on; what a broker has cut off at the end is left out.
 * @throws StoreError CORRUPT for wrong bytes, a gap between offsets, and records that are no frames of ours
 */
export function* decodeFrames(bytes: Buffer, from: number): Generator<LoggedFrame, void> {
  let next: number | undefined;
  for (let at = 0; bytes.length - at >= lengthEnd; ) {
    const batch = checkBatch(bytes, at);
    if (batch === null) return;
    const { end, first, count } = batch;
    if (first !== (next ?? first)) throw corrupt(next ?? first, `offset ${first} follows`);
    yield* recordsOf(bytes.subarray(at + recordsAt, end), batch, from);
    next = first + count;
    at = end;
  }
}

interface Checked {
  readonly end: number;
  /** The offset of the first record. */
  readonly first: number;
  readonly count: number;
  /** The time that all of its records have: that of the log (`LogAppendTime`), as our topics want it. */
  readonly appendedAt: number;
}

/** Where the batch at `at` ends and what it holds, or null if its end is not there. */
function checkBatch(bytes: Buffer, at: number): Checked | null {
  const view = toDataView(bytes);
  const first = Number(view.getBigInt64(at));
  const length = view.getInt32(at + 8);
  if (!Number.isSafeInteger(first) || first < 0) throw corrupt(first, "the offset is none");
  if (length < leastLength) throw corrupt(first, `a batch of ${length} bytes`);
  const end = at + lengthEnd + length;
  if (end > bytes.length) return null;
  if (view.getInt8(at + magicAt) !== 2) throw corrupt(first, "the format is not 2");
  if (view.getUint32(at + crcAt) !== crc32c(bytes, at + attributesAt, end)) throw corrupt(first, "checksum");
  // Bits 0 to 2: compression; 3: whose time it bears; 4: transaction; 5: control.
  if ((view.getInt16(at + attributesAt) & ~0b1000) !== 0) {
    throw corrupt(first, "compressed, or part of a transaction: it was not written by Tidemark");
  }
  const count = view.getInt32(at + countAt);
  if (count < 1 || view.getInt32(at + lastDeltaAt) !== count - 1) throw corrupt(first, "records are missing");
  return { end, first, count, appendedAt: Number(view.getBigInt64(at + lastTimeAt)) };
}

function* recordsOf(bytes: Buffer, batch: Checked, from: number): Generator<LoggedFrame, void> {
  const { first, count, appendedAt } = batch;
  let at = 0;
  for (let i = 0; i < count; i++) {
    const record = readRecord(bytes, at, first + i, i);
    if (first + i >= from) yield { offset: first + i, appendedAt, frame: record.value };
    at = record.end;
  }
  if (at !== bytes.length) throw corrupt(first, "bytes after the last record");
}

function readRecord(
  bytes: Buffer,
  at: number,
  offset: number,
  delta: number,
): { value: Buffer; end: number } {
  const cursor = { at };
  const next = (): number => readVarint(bytes, cursor, offset);
  const length = next();
  const end = cursor.at + length;
  if (length < 6 || end > bytes.length) throw corrupt(offset, "a record's length");
  cursor.at++; // attributes
  readVarint(bytes, cursor, offset); // time
  if (next() !== delta) throw corrupt(offset, "a record's offset");
  const keyBytes = next();
  if (keyBytes > 0) throw corrupt(offset, "it has a key: it was not written by Tidemark");
  const valueBytes = next();
  if (valueBytes < 0 || cursor.at + valueBytes > end) throw corrupt(offset, "it holds no frame");
  const value = bytes.subarray(cursor.at, cursor.at + valueBytes);
  cursor.at += valueBytes;
  if (next() !== 0) throw corrupt(offset, "it has headers: it was not written by Tidemark");
  if (cursor.at !== end) throw corrupt(offset, "a record's length");
  return { value, end };
}

/** A zigzag varint of up to ten bytes; exact as far as integers are, which times alone exceed. */
function readVarint(bytes: Buffer, cursor: { at: number }, offset: number): number {
  let value = 0;
  for (let factor = 1, i = 0; i < 10; factor *= 128, i++) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw corrupt(offset, "it ends within a number");
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  throw corrupt(offset, "a number of more than ten bytes");
}

function corrupt(offset: number, cause: string): StoreError {
  return new StoreError("CORRUPT", `cannot read the log at offset ${offset}: ${cause}`);
}
