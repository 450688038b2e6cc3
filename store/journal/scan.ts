import { isGenuineHead, isIntact, peekRecord, prefixBytes, recordHeadBytes } from "./frame.js";

/** No record is larger: 256 KiB of payload, 64 KiB of topic, and a margin. */
export const recordBytesLimit = 768 * 1024;

/** Possible heads that one call examines at most: a damaged place may be full of them. */
const headsPerCall = 16_384;

/** The conditions that records of a segment must meet. */
interface ScanRules {
  /** 0 in format 1, where a payload might pass for a record: there, only lengths lead to the next record. */
  readonly salt: number;
  /** Ids of the records lie in (after, before); others are left from a commit that failed. */
  readonly after: number;
  readonly before: number;
}

interface Scan {
  /** Offsets of intact records, ascending by id. */
  readonly offsets: number[];
  /** Stretches [from, to) that hold no record as it was written. */
  readonly damaged: (readonly [from: number, to: number])[];
  /** The last id that can still be read from the head of a damaged record, or 0. */
  readonly damagedID: number;
  /** Everything before this offset has been examined. */
  readonly next: number;
  /** In format 1: a length leads nowhere, so that nothing after it can be distinguished from a payload. */
  readonly isLost: boolean;
}

/**
 * Finds the intact records of `buffer` up to `end`. After a damaged one it continues at the next head that only this
 * segment's writer can have made; in format 1, at the record that its length leads to. `isLast`: no more bytes follow.
 */
export function scanRecords(buffer: Buffer, end: number, isLast: boolean, rules: ScanRules): Scan {
  const { salt, before } = rules;
  const offsets: number[] = [];
  const damaged: [number, number][] = [];
  let damagedID = 0;
  let after = rules.after;
  let at = 0;
  const scanned = (next: number, isLost = false): Scan => ({ offsets, damaged, damagedID, next, isLost });
  for (;;) {
    const size = at < end ? sizeAt(buffer, at, end) : unfinished;
    if (size > 0 && isIntact(buffer, at, size, salt)) {
      const { id } = peekRecord(buffer, at);
      if (id > after && id < before) {
        offsets.push(at);
        after = id;
      }
      at += size;
      continue;
    }
    if (at >= end || (size === unfinished && !isLast)) return scanned(at);
    if (salt === 0 && size <= 0) {
      damaged.push([at, end]);
      return scanned(end, true);
    }
    if (size > 0 && (salt === 0 || isGenuineHead(buffer, at, end, salt))) {
      damagedID = Math.max(damagedID, salt === 0 ? 0 : peekRecord(buffer, at).id);
      damaged.push([at, at + size]);
      at += size;
      continue;
    }
    const found = search(buffer, at + 1, end, isLast, salt);
    damaged.push([at, found.at]);
    at = found.at;
    if (found.pauses) return scanned(at);
  }
}

/** Not all of the record's bytes are there, or its length is impossible. */
const unfinished = 0;
const impossible = -1;

function sizeAt(buffer: Buffer, at: number, end: number): number {
  if (at + prefixBytes > end) return unfinished;
  const size = prefixBytes + buffer.readUInt32LE(at);
  if (size < recordHeadBytes || size > recordBytesLimit) return impossible;
  return at + size > end ? unfinished : size;
}

/** Where to continue; `pauses`: a head there needs more bytes, or enough has been examined. */
interface Found {
  readonly at: number;
  readonly pauses: boolean;
}

/** Finds the next genuine head. Each offset costs at most the checksum of a head, whatever length it claims. */
function search(buffer: Buffer, from: number, end: number, isLast: boolean, salt: number): Found {
  let heads = 0;
  for (let at = from; at + headBytes <= end; at++) {
    const size = prefixBytes + buffer.readUInt32LE(at);
    if (size < headBytes || size > recordBytesLimit) continue;
    if (isGenuineHead(buffer, at, end, salt)) return { at, pauses: at + size > end && !isLast };
    if (++heads >= headsPerCall) return { at: at + 1, pauses: true };
  }
  // A head that begins in the last bytes cannot be checked yet.
  return isLast ? { at: end, pauses: false } : { at: Math.max(from, end - headBytes + 1), pauses: true };
}

const headBytes = recordHeadBytes + 4;
