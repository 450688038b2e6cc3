import { StoreError } from "../../lib/errors.js";
import { type Run, sliceRun } from "./columns.js";

export const chunkPointsMax = 4096;
/** Text chunks are cut by size too, so that no blob grows with the length of what a device sends. */
const chunkTextBytesMax = 1 << 20;

/** What the index knows of a chunk: `start` and `stop` are its first and last time, both included. */
export interface ChunkSpan {
  readonly id: number;
  readonly start: number;
  readonly stop: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Numbers: n times, n values, little-endian doubles. Text: n times, n byte offsets (uint32) of the end of
 * each value, then the UTF-8 bytes. Strings must be well formed; NUL is a byte like any other.
 */
export function encodeChunk({ times, values }: Run): Uint8Array {
  const { length } = times;
  if (!Array.isArray(values)) {
    const data = new Float64Array(length * 2);
    data.set(times);
    data.set(values, length);
    return new Uint8Array(data.buffer);
  }
  const parts = values.map((value) => encoder.encode(value));
  const data = new Uint8Array(length * 12 + parts.reduce((total, part) => total + part.length, 0));
  new Float64Array(data.buffer, 0, length).set(times);
  const ends = new Uint32Array(data.buffer, length * 8, length);
  let end = 0;
  for (const [i, part] of parts.entries()) {
    data.set(part, length * 12 + end);
    end += part.length;
    ends[i] = end;
  }
  return data;
}

/** @throws StoreError CORRUPT when the length cannot be right. */
export function decodeChunk(data: ArrayBuffer, points: number, text: boolean): Run {
  const fixedBytes = points * (text ? 12 : 16);
  if (text ? data.byteLength < fixedBytes : data.byteLength !== fixedBytes) {
    throw new StoreError("CORRUPT", `cannot read chunk: ${data.byteLength} bytes for ${points} points`);
  }
  const times = new Float64Array(data, 0, points);
  if (!text) return { times, values: new Float64Array(data, points * 8, points) };
  const ends = new Uint32Array(data, points * 8, points);
  const bytes = new Uint8Array(data, points * 12);
  let start = 0;
  const values = Array.from(ends, (end) => {
    const value = decoder.decode(bytes.subarray(start, end));
    start = end;
    return value;
  });
  return { times, values };
}

/** Cuts a run into chunks of even size, so that no short one remains. */
export function cutIntoChunks(run: Run): Run[] {
  const total = run.times.length;
  const chunks = Math.ceil(total / chunkPointsMax);
  const pieces: Run[] = [];
  for (let i = 0; i < chunks; i++) {
    const piece = sliceRun(run, Math.floor((i * total) / chunks), Math.floor(((i + 1) * total) / chunks));
    pieces.push(...cutText(piece));
  }
  return pieces;
}

function cutText(run: Run): Run[] {
  const { values } = run;
  if (!Array.isArray(values)) return [run];
  const pieces: Run[] = [];
  let from = 0;
  let size = 0;
  for (const [i, value] of values.entries()) {
    // a UTF-16 unit never takes more than three bytes
    const bytes = value.length * 3;
    if (i > from && size + bytes > chunkTextBytesMax) {
      pieces.push(sliceRun(run, from, i));
      from = i;
      size = 0;
    }
    size += bytes;
  }
  pieces.push(sliceRun(run, from, values.length));
  return pieces;
}

/** Groups whose spans overlap, in time order; chunks of different groups share no stretch of time. */
export function overlapGroups<T extends ChunkSpan>(chunks: readonly T[]): T[][] {
  const groups: T[][] = [];
  let stop = Number.NEGATIVE_INFINITY;
  for (const chunk of chunks.toSorted((a, b) => a.start - b.start)) {
    const group = groups.at(-1);
    if (group !== undefined && chunk.start <= stop) group.push(chunk);
    else groups.push([chunk]);
    stop = Math.max(stop, chunk.stop);
  }
  return groups;
}

const tinyPoints = 256;
const smallPoints = chunkPointsMax / 2;
const compactedPointsMax = chunkPointsMax * 8;
/** Where every character takes one byte, text chunks are full at a third of their bytes. */
const smallTextBytes = chunkTextBytesMax / 6;
const compactedTextBytesMax = chunkTextBytesMax * 2;

/**
 * The chunks, neighbours in id order, that are worth rewriting as fewer; empty where no chunks are. While a part is
 * still written (`settled` false) only many of one size are, so that a point is rewritten a few times at most.
 * The result may take the ids of what it replaces: nothing of the series lies between them, so the order in which
 * chunks win over one another stays. For texts the bytes count as well: a full chunk may hold only a few points.
 */
export function chunksToCompact<T extends { readonly points: number; readonly bytes?: number }>(
  byID: readonly T[],
  settled: boolean,
): T[] {
  const tiers = settled
    ? [{ below: smallPoints, least: 2 }]
    : [
        { below: tinyPoints, least: 16 },
        { below: smallPoints, least: 8 },
      ];
  for (const { below, least } of tiers) {
    let run: T[] = [];
    let points = 0;
    let bytes = 0;
    for (const chunk of byID) {
      const { bytes: own = 0 } = chunk;
      const isSmall = chunk.points < below && own < smallTextBytes;
      const fits = points + chunk.points <= compactedPointsMax && bytes + own <= compactedTextBytesMax;
      if (isSmall && fits) {
        run.push(chunk);
        points += chunk.points;
        bytes += own;
        continue;
      }
      if (run.length >= least) return run;
      run = isSmall ? [chunk] : [];
      points = isSmall ? chunk.points : 0;
      bytes = isSmall ? own : 0;
    }
    if (run.length >= least) return run;
  }
  return [];
}
