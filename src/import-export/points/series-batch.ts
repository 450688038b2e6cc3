import type { SeriesPointBatch, SeriesRef } from "../../../store/series/series.js";
import type { BadRow, ReadBatch } from "./batch-builder.js";
import type { Targets } from "./targets.js";

interface SeriesBatch {
  readonly points: SeriesPointBatch;
  /** Line of each point. */
  readonly lines: Float64Array;
  /** Rows whose device or data point has gone or changed since it was looked up. */
  readonly gone: readonly BadRow[];
}

/** The batch with series in place of targets, in columns of its own, because the store takes them over. */
export async function toSeriesBatch(batch: ReadBatch, targets: Targets): Promise<SeriesBatch> {
  const { targetAt, times, values, texts, lines } = batch;
  await targets.renew([...new Set(targetAt)]);
  const series: SeriesRef[] = [];
  const indexes = new Map<number, number>();
  const findIndex = (target: number): number => {
    let index = indexes.get(target);
    if (index === undefined) {
      const ref = targets.series(target);
      index = ref === null ? -1 : series.push(ref) - 1;
      indexes.set(target, index);
    }
    return index;
  };
  const seriesAt = new Int32Array(targetAt.length);
  const kept = {
    times: new Float64Array(times),
    values: new Float64Array(values),
    lines: new Float64Array(lines),
  };
  const gone: BadRow[] = [];
  let n = 0;
  for (let i = 0; i < targetAt.length; i++) {
    const index = findIndex(targetAt[i] as number);
    if (index < 0) {
      gone.push({
        line: lines[i] as number,
        column: "",
        error: "its device or data point was removed meanwhile",
      });
      continue;
    }
    seriesAt[n] = index;
    kept.times[n] = times[i] as number;
    kept.values[n] = values[i] as number;
    kept.lines[n] = lines[i] as number;
    n++;
  }
  return {
    points: {
      series,
      texts,
      seriesAt: seriesAt.subarray(0, n),
      times: kept.times.subarray(0, n),
      values: kept.values.subarray(0, n),
    },
    lines: kept.lines.subarray(0, n),
    gone,
  };
}
