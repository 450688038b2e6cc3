import type { Aggregate } from "../store/series.js";

/** aggregateType of the interface → aggregate. */
export const aggregatesByType: ReadonlyMap<number, Aggregate> = new Map([
  [1, "max"],
  [2, "min"],
  [3, "mean"],
  [4, "sum"],
  [5, "increase"],
  [6, "first"],
  [7, "last"],
  [8, "count"],
]);

/** What one window has gathered. `sum` is compensated (Neumaier 1974), so that order hardly matters. */
interface Gathered {
  count: number;
  sum: number;
  compensation: number;
  min: number;
  max: number;
  first: number;
  last: number;
  increase: number;
}

const results: Readonly<Record<Aggregate, (gathered: Gathered) => number>> = {
  max: (gathered) => gathered.max,
  min: (gathered) => gathered.min,
  mean: (gathered) => (gathered.sum + gathered.compensation) / gathered.count,
  sum: (gathered) => gathered.sum + gathered.compensation,
  increase: (gathered) => gathered.increase,
  first: (gathered) => gathered.first,
  last: (gathered) => gathered.last,
  count: (gathered) => gathered.count,
};

/** Aggregates values that come in ascending time, windows over `edges`; NaN is no value. */
export interface WindowAggregator {
  add(times: Float64Array, values: Float64Array): void;
  /** Sets the value before the first, which `increase` starts from. */
  prime(value: number): void;
  /** One entry a window, null where it is empty. */
  end(): (number | null)[];
}

export function createWindowAggregator(edges: readonly number[], aggregate: Aggregate): WindowAggregator {
  const windows: (Gathered | undefined)[] = Array.from({ length: edges.length - 1 });
  let window = 0;
  let previous = Number.NaN;

  function gather(value: number): void {
    const step = Number.isNaN(previous) ? 0 : value < previous ? value : value - previous;
    previous = value;
    const gathered = windows[window];
    if (gathered === undefined) {
      windows[window] = {
        count: 1,
        sum: value,
        compensation: 0,
        min: value,
        max: value,
        first: value,
        last: value,
        increase: step,
      };
      return;
    }
    gathered.count++;
    addCompensated(gathered, value);
    if (value < gathered.min) gathered.min = value;
    if (value > gathered.max) gathered.max = value;
    gathered.last = value;
    gathered.increase += step;
  }

  return {
    prime: (value) => {
      previous = value;
    },
    add: (times, values) => {
      for (const [i, time] of times.entries()) {
        while (window < windows.length && time >= (edges[window + 1] as number)) window++;
        if (window === windows.length) return;
        const value = values[i] as number;
        if (!Number.isNaN(value) && time >= (edges[window] as number)) gather(value);
      }
    },
    end: () =>
      windows.map((gathered) => (gathered === undefined ? null : finite(results[aggregate](gathered)))),
  };
}

function addCompensated(gathered: Gathered, value: number): void {
  const sum = gathered.sum + value;
  gathered.compensation +=
    Math.abs(gathered.sum) >= Math.abs(value) ? gathered.sum - sum + value : value - sum + gathered.sum;
  gathered.sum = sum;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
