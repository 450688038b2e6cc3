/** The newest points, held in memory until they are written to files. */

import { textsWithin } from "../../lib/text-bytes.js";
import { noTimeAbove, noTimeBelow, type ReadLimits, type Run } from "./columns.js";

interface MemtableRange extends ReadLimits {
  readonly start?: number | undefined;
  readonly stop?: number | undefined;
}

export interface Memtable {
  /** Points held, with the overwritten ones of slots that were written out of order. */
  points(): number;
  /** True when a batch fits; an empty table takes a batch of any size. */
  hasRoom(points: number, textBytes: number): boolean;
  /** A later add of the same slot and time wins. `value` is the text itself in text slots. */
  add(slot: number, time: number, value: number | string): void;
  /** The slot's points in the range, or null when it holds none there. */
  read(slot: number, range: MemtableRange): Run | null;
  has(slot: number): boolean;
  /** The slots that hold points, in no particular order. */
  slots(): number[];
  clear(): void;
}

const firstPoints = 1 << 12;
const none = -1;

/**
 * A bounded arena: every point is appended to common columns and linked to the slot's point before it. A slot
 * therefore costs 17 bytes however few points it has, and 300,000 series need no small arrays.
 */
export function createMemtable(bounds: { pointsMax: number; textBytesMax: number }): Memtable {
  let times = new Float64Array(firstPoints);
  let values = new Float64Array(firstPoints);
  let before = new Int32Array(firstPoints);
  let texts: string[] = [];
  let heads = new Int32Array(firstPoints).fill(none);
  let counts = new Int32Array(firstPoints);
  /** 1 where times came in any other order than strictly ascending. */
  let mixed = new Uint8Array(firstPoints);
  let textSlots = new Uint8Array(firstPoints);
  let used: number[] = [];
  let size = 0;
  let textBytes = 0;

  function growPoints(): void {
    const wanted = Math.max(size + 1, Math.min(size * 2, bounds.pointsMax), Math.ceil(size * 1.25));
    times = enlarged(times, new Float64Array(wanted));
    values = enlarged(values, new Float64Array(wanted));
    before = enlarged(before, new Int32Array(wanted));
  }

  function growSlots(slot: number): void {
    const wanted = Math.max(slot + 1, heads.length * 2);
    heads = enlarged(heads, new Int32Array(wanted).fill(none));
    counts = enlarged(counts, new Int32Array(wanted));
    mixed = enlarged(mixed, new Uint8Array(wanted));
    textSlots = enlarged(textSlots, new Uint8Array(wanted));
  }

  function put(at: number, slot: number, value: number | string): void {
    if (typeof value === "number") {
      values[at] = value;
      return;
    }
    values[at] = texts.push(value) - 1;
    textBytes += value.length;
    textSlots[slot] = 1;
  }

  function add(slot: number, time: number, value: number | string): void {
    if (slot >= heads.length) growSlots(slot);
    const head = heads[slot] ?? none;
    if (head === none) used.push(slot);
    else {
      const last = times[head] ?? 0;
      if (last === time) {
        put(head, slot, value);
        return;
      }
      if (last > time) mixed[slot] = 1;
    }
    if (size === times.length) growPoints();
    times[size] = time;
    before[size] = head;
    heads[slot] = size;
    counts[slot] = (counts[slot] ?? 0) + 1;
    put(size, slot, value);
    size++;
  }

  /** Arena indices in write order. An ascending slot is walked from its newest point and only as far as needed. */
  function collect(slot: number, range: MemtableRange): Int32Array {
    const { start = noTimeBelow, stop = noTimeAbove, newest = noTimeAbove } = range;
    const ascending = mixed[slot] === 0;
    const found = new Int32Array(counts[slot] ?? 0);
    let at = found.length;
    for (let i = heads[slot] ?? none; i !== none; i = before[i] ?? none) {
      const time = times[i] ?? 0;
      if (time >= start && time < stop) found[--at] = i;
      else if (ascending && time < start) break;
      if (ascending && found.length - at >= newest) break;
    }
    return found.subarray(at);
  }

  function read(slot: number, range: MemtableRange): Run | null {
    const found = collect(slot, range);
    if (found.length === 0) return null;
    const counted = limited(mixed[slot] === 0 ? found : sortedLaterWins(found, times), range);
    if (textSlots[slot] === 0) return { times: picked(times, counted), values: picked(values, counted) };
    const textAt = (index: number): string => texts[values[index] ?? 0] ?? "";
    const indices = withinBytes(counted, range, textAt);
    const cut = indices.length < counted.length ? { cut: true } : {};
    return { ...cut, times: picked(times, indices), values: Array.from(indices, textAt) };
  }

  function clear(): void {
    for (const slot of used) {
      heads[slot] = none;
      counts[slot] = 0;
      mixed[slot] = 0;
      textSlots[slot] = 0;
    }
    used = [];
    texts = [];
    size = 0;
    textBytes = 0;
  }

  return {
    points: () => size,
    hasRoom: (points, bytes) =>
      size === 0 || (size + points <= bounds.pointsMax && textBytes + bytes <= bounds.textBytesMax),
    add,
    read,
    has: (slot) => (heads[slot] ?? none) !== none,
    slots: () => used.slice(),
    clear,
  };
}

function enlarged<T extends Float64Array | Int32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Indices of points by time; of those with equal times the one that was written last. */
function sortedLaterWins(indices: Int32Array, times: Float64Array): Int32Array {
  indices.sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0) || a - b);
  let n = 0;
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] ?? 0;
    const next = indices[i + 1];
    if (next === undefined || times[next] !== times[index]) indices[n++] = index;
  }
  return indices.subarray(0, n);
}

function limited(indices: Int32Array, range: MemtableRange): Int32Array {
  if (range.newest !== undefined) return indices.subarray(Math.max(0, indices.length - range.newest));
  return range.oldest === undefined ? indices : indices.subarray(0, range.oldest);
}

/** As many of the texts as the range's bytes allow. */
function withinBytes(
  indices: Int32Array,
  { newest, oldest, bytesMax }: MemtableRange,
  textAt: (index: number) => string,
): Int32Array {
  if (bytesMax === undefined || (newest ?? oldest) === undefined) return indices;
  const from = newest !== undefined ? "newest" : "oldest";
  const count = textsWithin(indices.length, (i) => textAt(indices[i] ?? 0), from, bytesMax);
  return from === "newest" ? indices.subarray(indices.length - count) : indices.subarray(0, count);
}

function picked(column: Float64Array, indices: Int32Array): Float64Array {
  const own = new Float64Array(indices.length);
  for (let i = 0; i < indices.length; i++) own[i] = column[indices[i] ?? 0] ?? 0;
  return own;
}
