import { crc32 } from "../../lib/crc32.js";

/**
 * The series that a part may hold, a bit each: ids are given in sequence, so a part with 300,000 series needs 37 KB.
 * A series that is not in the set is not in the part; one that is may have been removed.
 */
export interface SeriesSet {
  has(series: number): boolean;
  /** True where at least one of them is new. */
  add(series: Iterable<number>): boolean;
  /** With a checksum, because a flipped bit would hide a series. */
  encode(): Uint8Array;
}

const headBytes = 8;
const sumBytes = 4;

export function createSeriesSet(): SeriesSet {
  return toSeriesSet(0, new Uint8Array(0));
}

/** Null where the bytes are not what `encode` made. */
export function decodeSeriesSet(blob: ArrayBuffer): SeriesSet | null {
  const bytes = Buffer.from(blob);
  const end = bytes.length - sumBytes;
  if (end < headBytes || bytes.readUInt32LE(end) !== crc32(bytes.subarray(0, end))) return null;
  return toSeriesSet(bytes.readDoubleLE(0), Uint8Array.from(bytes.subarray(headBytes, end)));
}

/** @param first the byte that `bits` begins with: that of series 8 × first */
function toSeriesSet(first: number, bits: Uint8Array): SeriesSet {
  const findByte = (series: number): number => Math.floor(series / 8) - first;

  /** Extends the bits by the bytes `from` to `to` (inclusive), counted from the present first one. */
  function grow(from: number, to: number): void {
    const below = bits.length === 0 ? 0 : Math.max(0, -from);
    const above = bits.length === 0 ? to - from + 1 : Math.max(bits.length, to + 1) + below;
    if (bits.length === 0) first += from;
    if (below === 0 && above <= bits.length) return;
    const capacity = new Uint8Array(above);
    capacity.set(bits, below);
    bits = capacity;
    first -= below;
  }

  return {
    has: (series) => {
      const byte = bits[findByte(series)] ?? 0;
      return ((byte >> (series % 8)) & 1) === 1;
    },
    add: (series) => {
      const ids = [...series];
      if (ids.length === 0) return false;
      let least = Number.POSITIVE_INFINITY;
      let most = 0;
      for (const id of ids) {
        least = Math.min(least, id);
        most = Math.max(most, id);
      }
      grow(findByte(least), findByte(most));
      let isNew = false;
      for (const id of ids) {
        const at = findByte(id);
        const byte = bits[at] ?? 0;
        const bit = 1 << (id % 8);
        if ((byte & bit) !== 0) continue;
        bits[at] = byte | bit;
        isNew = true;
      }
      return isNew;
    },
    encode: () => {
      const bytes = Buffer.alloc(headBytes + bits.length + sumBytes);
      bytes.writeDoubleLE(first, 0);
      bytes.set(bits, headBytes);
      bytes.writeUInt32LE(crc32(bytes.subarray(0, headBytes + bits.length)), headBytes + bits.length);
      return bytes;
    },
  };
}
