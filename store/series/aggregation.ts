import type { Aggregate } from "./series.js";

interface Aggregation {
  /** The value of the point before the first edge: what `increase` counts from. */
  startFrom(value: number): void;
  /** Adds points in time order, call after call; those outside the edges are passed over. */
  add(times: Float64Array, values: Float64Array): void;
  /** One entry a window; null where the window has no point. */
  result(): (number | null)[];
}

/** One window's running state is one index of these columns; `low` holds what `high` lost to rounding. */
interface State {
  readonly n: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  previous: number | undefined;
}

/** Takes values[from] to values[to - 1] into window w. */
type Fold = (state: State, w: number, values: Float64Array, from: number, to: number) => void;

/** Neumaier's compensated sum: the order of the points hardly shows, even in the last digit. */
const sum: Fold = (state, w, values, from, to) => {
  // In local variables: millions of points go through here.
  let high = state.high[w] ?? 0;
  let low = state.low[w] ?? 0;
  for (let i = from; i < to; i++) {
    const value = values[i] ?? 0;
    const next = high + value;
    low += Math.abs(high) >= Math.abs(value) ? high - next + value : value - next + high;
    high = next;
  }
  state.high[w] = high;
  state.low[w] = low;
};

const extreme =
  (pick: (a: number, b: number) => number): Fold =>
  (state, w, values, from, to) => {
    let best = state.n[w] === 0 ? (values[from] ?? 0) : (state.high[w] ?? 0);
    for (let i = from; i < to; i++) best = pick(best, values[i] ?? 0);
    state.high[w] = best;
  };

const folds: Readonly<Record<Aggregate, Fold>> = {
  count: () => undefined,
  sum,
  mean: sum,
  min: extreme(Math.min),
  max: extreme(Math.max),
  first: (state, w, values, from) => {
    if (state.n[w] === 0) state.high[w] = values[from] ?? 0;
  },
  last: (state, w, values, _from, to) => {
    state.high[w] = values[to - 1] ?? 0;
  },
  increase: (state, w, values, from, to) => {
    const grown = new Float64Array(to - from);
    let { previous = values[from] ?? 0 } = state;
    for (let i = from; i < to; i++) {
      const value = values[i] ?? 0;
      grown[i - from] = value < previous ? value : value - previous;
      previous = value;
    }
    state.previous = previous;
    sum(state, w, grown, 0, grown.length);
  },
};

const total = (state: State, w: number): number => {
  const high = state.high[w] ?? 0;
  // Beyond the largest double the sum is infinite and the correction NaN.
  return Number.isFinite(high) ? high + (state.low[w] ?? 0) : high;
};

const finish: Readonly<Record<Aggregate, (state: State, w: number) => number>> = {
  count: (state, w) => state.n[w] ?? 0,
  sum: total,
  mean: (state, w) => total(state, w) / (state.n[w] ?? 1),
  min: total,
  max: total,
  first: total,
  last: total,
  increase: total,
};

/** The first index from `from` on whose time is not below `stop`, searched in steps that double. */
function findIndex(times: Float64Array, from: number, stop: number): number {
  let step = 1;
  let low = from;
  while (low + step <= times.length && (times[low + step - 1] ?? 0) < stop) {
    low += step;
    step *= 2;
  }
  let high = Math.min(times.length, low + step - 1);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < stop) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param edges ascending, in the unit of the times; window i is [edges[i], edges[i + 1]). */
export function createAggregation(edges: ArrayLike<number>, aggregate: Aggregate): Aggregation {
  const windows = Math.max(0, edges.length - 1);
  const state: State = {
    n: new Float64Array(windows),
    high: new Float64Array(windows),
    low: new Float64Array(windows),
    previous: undefined,
  };
  const fold = folds[aggregate];
  let w = 0;

  function add(times: Float64Array, values: Float64Array): void {
    let at = findIndex(times, 0, edges[0] ?? 0);
    while (at < times.length) {
      const time = times[at] ?? 0;
      while (w < windows && time >= (edges[w + 1] ?? 0)) w++;
      if (w === windows) return;
      const stop = edges[w + 1] ?? 0;
      const from = at;
      at = findIndex(times, from, stop);
      fold(state, w, values, from, at);
      state.n[w] = (state.n[w] ?? 0) + at - from;
    }
  }

  return {
    startFrom: (value) => {
      state.previous = value;
    },
    add,
    result: () => Array.from(state.n, (n, i) => (n === 0 ? null : finish[aggregate](state, i))),
  };
}
