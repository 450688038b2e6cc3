/** Batches of columns as points, and what was refused of them. */

import type { Kind, Point, RefusedAt, RefusedPoint, SeriesPointBatch } from "../series.js";

/** The value of the point at an index of a batch; undefined for the index of a text that is not there. */
export function readBatchValue(
  { values, texts }: SeriesPointBatch,
  index: number,
  kind: Kind,
): Point["value"] | undefined {
  const number = values[index] ?? Number.NaN;
  return kind === "text" ? texts[number] : number;
}

export function pointsOfBatch(batch: SeriesPointBatch): Point[] {
  const { series, seriesAt, times } = batch;
  const points: Point[] = [];
  for (let i = 0; i < times.length; i += 1) {
    const ref = series[seriesAt[i] ?? 0];
    if (ref === undefined) throw new RangeError(`no series has place ${seriesAt[i]}`);
    const value = readBatchValue(batch, i, ref.kind) ?? "";
    points.push({ series: ref, time: times[i] ?? Number.NaN, value, serverStamped: false });
  }
  return points;
}

/** The indexes of the refused points in the batch. */
export function refusedIndexes(points: readonly Point[], refused: readonly RefusedPoint[]): RefusedAt[] {
  if (refused.length === 0) return [];
  const indexes = new Map(points.map((point, index) => [point, index]));
  return refused.map(({ point, reason }) => ({ index: indexes.get(point) ?? 0, reason }));
}
