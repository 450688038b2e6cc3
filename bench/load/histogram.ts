/** Latencies in milliseconds, each within about 3% of the truth; max is exact. */
export interface Latencies {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export interface Histogram {
  record(ms: number): void;
  latencies(): Latencies;
}

const stepsPerDoubling = 32;
const microsecondsMax = 2 ** 31 - 1;

/** Counts in buckets of microseconds, 32 to each doubling: one increment a message, whatever the spread. */
export function createHistogram(): Histogram {
  const counts = new Float64Array(bucketOf(microsecondsMax) + 1);
  let total = 0;
  let max = 0;

  function record(ms: number): void {
    const us = Math.min(microsecondsMax, Math.max(0, Math.round(ms * 1000)));
    const bucket = bucketOf(us);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    total += 1;
    if (us > max) max = us;
  }

  function percentile(share: number): number {
    const wanted = Math.ceil(total * share);
    let seen = 0;
    for (let bucket = 0; bucket < counts.length; bucket++) {
      seen += counts[bucket] ?? 0;
      if (seen >= wanted && seen > 0) return Math.min(lowestOf(bucket), max) / 1000;
    }
    return 0;
  }

  function latencies(): Latencies {
    return { p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99), max: max / 1000 };
  }
  return { record, latencies };
}

function bucketOf(us: number): number {
  const shift = Math.max(0, 26 - Math.clz32(us));
  return shift * stepsPerDoubling + (us >> shift);
}

function lowestOf(bucket: number): number {
  if (bucket < 2 * stepsPerDoubling) return bucket;
  const shift = Math.floor(bucket / stepsPerDoubling) - 1;
  return (bucket - shift * stepsPerDoubling) * 2 ** shift;
}

/** The value below which `share` of the values lie; 0 for none. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
