/** A batch of columns as points, for what works on points. */
import type { Point, PointBatch, RefusedAt, RefusedPoint } from "../series.js";

export function pointsOfBatch({ series, seriesAt, times, values, texts }: PointBatch): Point[] {
  const points: Point[] = [];
  for (let i = 0; i < times.length; i += 1) {
    const ref = series[seriesAt[i] ?? 0];
    if (ref === undefined) throw new RangeError(`no series has place ${seriesAt[i]}`);
    const number = values[i] ?? Number.NaN;
    const value =
      ref.kind === "text" ? (texts[number] ?? "") : ref.kind === "boolean" ? number === 1 : number;
    points.push({ series: ref, time: times[i] ?? Number.NaN, value, serverStamped: false });
  }
  return points;
}

/** Where the refused points lie in the batch. */
export function refusedPlaces(points: readonly Point[], refused: readonly RefusedPoint[]): RefusedAt[] {
  if (refused.length === 0) return [];
  const places = new Map(points.map((point, index) => [point, index]));
  return refused.map(({ point, reason }) => ({ index: places.get(point) ?? 0, reason }));
}
