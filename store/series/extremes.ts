import type { Columns } from "./series.js";

/** Thins points to what a drawn line shows of them: the ends, and the lowest and highest of each bucket. */
interface Extremes {
  /** Adds points in time order, call after call. */
  add(times: Float64Array, values: Float64Array): void;
  /** The points kept, ascending, none twice. */
  result(): { readonly times: Float64Array; readonly values: Float64Array };
}

/** Bucket k holds the times [k × width, (k + 1) × width); of equal values the earlier point is kept. */
export function createExtremes(width: number): Extremes {
  const times: number[] = [];
  const values: number[] = [];
  let bucketEnd = Number.NEGATIVE_INFINITY;
  const low = { time: 0, value: 0 };
  const high = { time: 0, value: 0 };
  const last = { time: Number.NEGATIVE_INFINITY, value: 0 };

  function keep(point: { time: number; value: number }): void {
    if (times.at(-1) === point.time) return;
    times.push(point.time);
    values.push(point.value);
  }

  function closeBucket(): void {
    if (bucketEnd === Number.NEGATIVE_INFINITY) return;
    keep(low.time <= high.time ? low : high);
    keep(low.time <= high.time ? high : low);
  }

  function openBucket(time: number, value: number): void {
    bucketEnd = (Math.floor(time / width) + 1) * width;
    low.time = high.time = time;
    low.value = high.value = value;
  }

  return {
    add: (someTimes, someValues) => {
      for (let i = 0; i < someTimes.length; i++) {
        const time = someTimes[i] as number;
        const value = someValues[i] as number;
        if (time >= bucketEnd) {
          if (bucketEnd === Number.NEGATIVE_INFINITY) keep({ time, value });
          closeBucket();
          openBucket(time, value);
        } else if (value < low.value) {
          low.time = time;
          low.value = value;
        } else if (value > high.value) {
          high.time = time;
          high.value = value;
        }
        last.time = time;
        last.value = value;
      }
    },
    result: () => {
      closeBucket();
      bucketEnd = Number.NEGATIVE_INFINITY;
      if (times.length > 0) keep(last);
      return { times: Float64Array.from(times), values: Float64Array.from(values) };
    },
  };
}

/** The same for points in any order, as engines answer them one query at a time. */
export function selectExtremes(
  kind: "number" | "boolean",
  points: readonly (readonly [time: number, value: number])[],
): Columns {
  const sorted = points.toSorted(([a], [b]) => a - b);
  const kept = sorted.filter(([time], i) => time !== sorted[i - 1]?.[0]);
  return {
    kind,
    times: Float64Array.from(kept, ([time]) => time),
    values: Float64Array.from(kept, ([, value]) => value),
  };
}
