import { crc32, crc32ByTable } from "../../lib/crc32.js";

/** What a chunk's checksum covers besides its data, so that data in the wrong row is found too. */
export interface ChunkHead {
  readonly series: number;
  /** First and last time. */
  readonly start: number;
  readonly stop: number;
  readonly points: number;
}

const head = new Float64Array(4);
const headBytes = new Uint8Array(head.buffer);
const last = new Float64Array(3);
const lastBytes = new Uint8Array(last.buffer);
const sumBytes = 4;
const valueBytes = 8;

/** The checksum of a chunk: 32 bits, unsigned. */
export function chunkSum({ series, start, stop, points }: ChunkHead, data: Uint8Array): number {
  head[0] = series;
  head[1] = start;
  head[2] = stop;
  head[3] = points;
  // Summing so few bytes takes less time than calling native code.
  return crc32(data, crc32ByTable(headBytes));
}

/**
 * The last value of a number chunk with a checksum of its own, so that the newest value can be had without the chunk:
 * eight bytes and four.
 */
export function sealLast({ series, stop }: ChunkHead, data: Uint8Array): Uint8Array {
  const sealed = Buffer.alloc(valueBytes + sumBytes);
  sealed.set(data.subarray(data.length - valueBytes));
  sealed.writeUInt32LE(lastSum(series, stop, sealed), valueBytes);
  return sealed;
}

/** The value; null where it is not what was stored. */
export function openLast(series: number, stop: number, sealed: ArrayBuffer): number | null {
  if (sealed.byteLength !== valueBytes + sumBytes) return null;
  const view = new DataView(sealed);
  const sum = view.getUint32(valueBytes, true);
  return sum === lastSum(series, stop, new Uint8Array(sealed)) ? view.getFloat64(0, true) : null;
}

function lastSum(series: number, stop: number, sealed: Uint8Array): number {
  last[0] = series;
  last[1] = stop;
  for (let i = 0; i < valueBytes; i++) lastBytes[16 + i] = sealed[i] ?? 0;
  return crc32ByTable(lastBytes);
}

/** Ids of the chunks of one file that were recently found intact. */
export interface VerifiedChunks {
  has(id: number, sum: number): boolean;
  add(id: number, sum: number): void;
}

const trustedMs = 60_000;
const trustedMax = 100_000;

/** Chunks that are asked for again and again are verified once a minute. */
export function createVerified(monotonic: () => number): VerifiedChunks {
  const sums = new Map<number, number>();
  let since = monotonic();
  return {
    has: (id, sum) => {
      if (monotonic() - since > trustedMs) {
        sums.clear();
        since = monotonic();
      }
      return sums.get(id) === sum;
    },
    add: (id, sum) => {
      if (sums.size >= trustedMax) sums.clear();
      sums.set(id, sum);
    },
  };
}
