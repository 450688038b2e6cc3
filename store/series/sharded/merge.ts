/** Points of one series from several stores as those of one: at one time that of the first store in the list counts. */
import { textsWithin } from "../../lib/text-bytes.js";
import type { Columns, ReadRange } from "../series.js";

/** @param parts at least one, all of one kind */
export function mergeColumns(parts: readonly Columns[]): Columns {
  return parts.reduce(mergeTwo);
}

/** What a read of one end answers, from what each store has answered to it. */
export function mergeEnds(parts: readonly Columns[], range: ReadRange): Columns {
  const wanted = range.newest ?? range.oldest;
  if (wanted === undefined) return mergeColumns(parts);
  const from = range.oldest === undefined ? "newest" : "oldest";
  const all = mergeColumns(parts);
  // Beyond the end of a part that its byte limit has cut, only the points of the others are known.
  const cutParts = parts.filter((part) => part.kind === "text" && part.cut === true);
  const known =
    from === "newest"
      ? after(all, Math.max(...cutParts.map(({ times }) => times[0] ?? 0)))
      : upTo(all, Math.min(...cutParts.map(({ times }) => times.at(-1) ?? 0)));
  const some = takeEnd(known, from, wanted);
  if (some.kind !== "text") return some;
  const { values } = some;
  const { bytesMax = Number.POSITIVE_INFINITY } = range;
  const fitting = textsWithin(values.length, (i) => values[i] ?? "", from, bytesMax);
  const isCut = fitting < wanted && (fitting < values.length || cutParts.length > 0);
  return { ...takeEnd(some, from, fitting), ...(isCut ? { cut: true } : {}) };
}

/** Pieces in ascending order, from scans of the same range. */
export async function* mergeScans(scans: readonly AsyncGenerator<Columns>[]): AsyncGenerator<Columns> {
  /** Pieces that have come and are not handed out yet; null: the scan has ended. */
  const held: (Columns | null | undefined)[] = scans.map(() => undefined);
  try {
    for (;;) {
      await Promise.all(
        scans.map(async (scan, i) => {
          while (held[i] === undefined || held[i]?.times.length === 0) {
            const next = await scan.next();
            held[i] = next.done === true ? null : next.value;
          }
        }),
      );
      const open = held.filter((one) => one !== null && one !== undefined);
      if (open.length === 0) return;
      // Whatever comes later of any scan is later than this.
      const bound = Math.min(...open.map(({ times }) => times.at(-1) ?? 0));
      yield mergeColumns(open.map((one) => upTo(one, bound)));
      for (const [i, one] of held.entries()) if (one) held[i] = after(one, bound, 1);
    }
  } finally {
    await Promise.all(scans.map((scan) => scan.return(undefined)));
  }
}

function mergeTwo(a: Columns, b: Columns): Columns {
  if (a.times.length === 0) return b;
  if (b.times.length === 0) return a;
  const times = new Float64Array(a.times.length + b.times.length);
  /** For each time where its value is: an index of `a`, or below zero, counted from -1, of `b`. */
  const places = new Int32Array(times.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.times.length || j < b.times.length; length++) {
    const timeA = a.times[i] ?? Number.POSITIVE_INFINITY;
    const timeB = b.times[j] ?? Number.POSITIVE_INFINITY;
    times[length] = Math.min(timeA, timeB);
    places[length] = timeA <= timeB ? i : -1 - j;
    if (timeA <= timeB) i++;
    if (timeB <= timeA) j++;
  }
  const merged = times.slice(0, length);
  if (a.kind === "text" || b.kind === "text") {
    const values = Array.from(merged, (_, n) => String(valueAt(a, b, places[n] ?? 0)));
    return { kind: "text", times: merged, values };
  }
  return { kind: a.kind, times: merged, values: merged.map((_, n) => Number(valueAt(a, b, places[n] ?? 0))) };
}

const valueAt = (a: Columns, b: Columns, place: number): number | string | undefined =>
  place >= 0 ? a.values[place] : b.values[-1 - place];

/** Those from `time` on, or `beyond` it. */
function after(columns: Columns, time: number, beyond: 0 | 1 = 0): Columns {
  return takeEnd(columns, "newest", columns.times.length - indexAt(columns.times, time + beyond));
}

const upTo = (columns: Columns, time: number): Columns =>
  takeEnd(columns, "oldest", indexAt(columns.times, time + 1));

/** The first index whose time is not below. */
function indexAt(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function takeEnd(columns: Columns, from: "newest" | "oldest", count: number): Columns {
  const { length } = columns.times;
  if (count >= length) return withoutMark(columns);
  const [start, stop] = from === "newest" ? [length - count, length] : [0, count];
  const times = columns.times.slice(start, stop);
  return columns.kind === "text"
    ? { kind: columns.kind, times, values: columns.values.slice(start, stop) }
    : { kind: columns.kind, times, values: columns.values.slice(start, stop) };
}

/** A cut is one of a part, and says nothing of the whole. */
function withoutMark(columns: Columns): Columns {
  return columns.kind === "text"
    ? { kind: columns.kind, times: columns.times, values: columns.values }
    : columns;
}
