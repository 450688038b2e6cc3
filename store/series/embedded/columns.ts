import { textsWithin } from "../../lib/text-bytes.js";

/** One series' points as two columns: ascending, no time twice. The unit that chunks, memtable and readers pass on. */
export interface Run {
  readonly times: Float64Array;
  readonly values: Float64Array | string[];
  /** Its bytes ended it before it had as many points as were asked for. */
  readonly cut?: boolean;
}

/** What a read asks for: the newest or the oldest points, of texts no more than so many bytes. */
export interface ReadLimits {
  readonly newest?: number | undefined;
  readonly oldest?: number | undefined;
  readonly bytesMax?: number | undefined;
}

export const noTimeBelow = Number.MIN_SAFE_INTEGER;
export const noTimeAbove = Number.MAX_SAFE_INTEGER;

/** The first index whose time is not below `time`; `times.length` where there is no such time. */
export function lowerBound(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function emptyRun(text: boolean): Run {
  return { times: new Float64Array(0), values: text ? [] : new Float64Array(0) };
}

export function firstTime(run: Run): number {
  return run.times[0] ?? noTimeAbove;
}

export function lastTime(run: Run): number {
  return run.times[run.times.length - 1] ?? noTimeBelow;
}

/** Points `from` (taken) to `to` (not taken); number columns are views of the same memory. */
export function sliceRun(run: Run, from: number, to: number): Run {
  if (from <= 0 && to >= run.times.length) return run;
  const { values } = run;
  return {
    times: run.times.subarray(from, to),
    values: Array.isArray(values) ? values.slice(from, to) : values.subarray(from, to),
  };
}

/** The same points, copied where their views would keep much more memory alive than they need. */
export function ownRun(run: Run): Run {
  const own = (column: Float64Array) =>
    column.buffer.byteLength > 2 * column.byteLength ? column.slice() : column;
  const { values } = run;
  return { ...run, times: own(run.times), values: Array.isArray(values) ? values : own(values) };
}

/** The points with start <= time < stop. */
export function clipRun(run: Run, start: number, stop: number): Run {
  return sliceRun(run, lowerBound(run.times, start), lowerBound(run.times, stop));
}

/** The newest (or oldest) of a run, as a read asks for; all when it asks for neither. */
export function limitRun(run: Run, limits: ReadLimits): Run {
  const n = run.times.length;
  const wanted = limits.newest ?? limits.oldest;
  if (wanted === undefined) return run;
  const from = limits.newest !== undefined ? "newest" : "oldest";
  const end = (of: Run, count: number): Run =>
    from === "newest" ? sliceRun(of, of.times.length - count, of.times.length) : sliceRun(of, 0, count);
  const some = n < wanted ? run : whole(end(run, wanted));
  const { values } = some;
  if (limits.bytesMax === undefined || !Array.isArray(values)) return some;
  const held = textsWithin(values.length, (i) => values[i] ?? "", from, limits.bytesMax);
  return held === values.length ? some : { ...end(some, held), cut: true };
}

/** It has as many points as were asked for. */
const whole = (run: Run): Run => (run.cut ? { times: run.times, values: run.values } : run);

/** `mergeRuns` as far as both runs are known: one that is cut says nothing of what lies beyond its end. */
export function mergeKnown(older: Run, newer: Run, newestFirst: boolean): Run {
  const ends = [older, newer].filter((run) => run.cut);
  if (ends.length === 0) return mergeRuns(older, newer);
  const start = newestFirst ? Math.max(...ends.map(firstTime)) : noTimeBelow;
  const stop = newestFirst ? noTimeAbove : Math.min(...ends.map(lastTime)) + 1;
  return { ...mergeRuns(clipRun(older, start, stop), clipRun(newer, start, stop)), cut: true };
}

/** Joins runs that already lie one after the other. */
export function concatRuns(runs: readonly Run[], text: boolean): Run {
  if (runs.length === 1 && runs[0] !== undefined) return runs[0];
  const times = new Float64Array(runs.reduce((total, run) => total + run.times.length, 0));
  const numbers = new Float64Array(text ? 0 : times.length);
  const texts: string[] = [];
  let at = 0;
  for (const { times: part, values } of runs) {
    times.set(part, at);
    if (Array.isArray(values)) for (const value of values) texts.push(value);
    else numbers.set(values, at);
    at += part.length;
  }
  return { times, values: text ? texts : numbers };
}

/** Both runs as one; where both hold a time, `newer` wins. */
export function mergeRuns(older: Run, newer: Run): Run {
  if (older.times.length === 0) return newer;
  if (newer.times.length === 0) return older;
  const text = Array.isArray(older.values);
  if (lastTime(older) < firstTime(newer)) return concatRuns([older, newer], text);
  if (lastTime(newer) < firstTime(older)) return concatRuns([newer, older], text);
  const picks = interleave(older.times, newer.times);
  const times = new Float64Array(picks.length);
  for (let i = 0; i < picks.length; i++) {
    const pick = picks[i] ?? 0;
    times[i] = (pick < 0 ? newer.times[~pick] : older.times[pick]) ?? 0;
  }
  return { times, values: gather(picks, older.values, newer.values) };
}

/** Merges runs given in the order they were written: later ones win. Merging by halves takes n log k steps. */
export function mergeAll(runs: readonly Run[], text: boolean): Run {
  if (runs.length <= 1) return runs[0] ?? emptyRun(text);
  const half = runs.length >>> 1;
  return mergeRuns(mergeAll(runs.slice(0, half), text), mergeAll(runs.slice(half), text));
}

/** Indices of the merged order: i for `older`, ~j for `newer`. */
function interleave(older: Float64Array, newer: Float64Array): Int32Array {
  const picks = new Int32Array(older.length + newer.length);
  let n = 0;
  let i = 0;
  let j = 0;
  while (i < older.length || j < newer.length) {
    const a = older[i] ?? Number.POSITIVE_INFINITY;
    const b = newer[j] ?? Number.POSITIVE_INFINITY;
    if (a === b) i++;
    else if (a < b) {
      picks[n++] = i++;
      continue;
    }
    picks[n++] = ~j++;
  }
  return picks.subarray(0, n);
}

function gather(picks: Int32Array, older: Run["values"], newer: Run["values"]): Run["values"] {
  if (Array.isArray(older) && Array.isArray(newer)) {
    return Array.from(picks, (pick) => (pick < 0 ? newer[~pick] : older[pick]) ?? "");
  }
  const values = new Float64Array(picks.length);
  for (let i = 0; i < picks.length; i++) {
    const pick = picks[i] ?? 0;
    values[i] = Number(pick < 0 ? newer[~pick] : older[pick]);
  }
  return values;
}
